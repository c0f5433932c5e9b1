"""Decisions and requirements that a sandbox partner simulates: contract, sections 11 and 13."""

from collections.abc import Collection

from django.contrib.auth.models import Group

from staff.models import Staff
from users.decisions.compliance import Decision, decide
from users.models import Requirement, RequirementClosure, StatusChange, User
from users.requirements import close_requirement, open_requirement

ROLE = "reviewer"
REASON = "Simulated by the partner."


def simulate_decision(*, user: User, to_status: str, reason_code: str | None = None, request_id: str) -> StatusChange:
    """Move the status of a sandbox user by the rules of section 8, in the name of the account `sandbox`.

    Raises RefusedError. Raises ValueError for a user who is real.
    """
    _require_sandbox(user)
    account, source = _account(), _source(request_id)
    return decide(
        Decision(user=user, to_status=to_status, by=account, reason=REASON, reason_code=reason_code, source=source)
    )


def simulate_requirement(
    *, user: User, code: str, fields: Collection[str], message: str, due_in_days: int, request_id: str
) -> Requirement:
    """Open a requirement of a sandbox user by the rules of section 13, in the name of the account `sandbox`.

    Raises RefusedError. Raises ValueError for a user who is real.
    """
    _require_sandbox(user)
    return open_requirement(
        user=user,
        code=code,
        fields=fields,
        message=message,
        due_in_days=due_in_days,
        by=_account(),
        source=_source(request_id),
    )


def simulate_closing(*, requirement: Requirement, request_id: str) -> RequirementClosure:
    """Close a requirement of a sandbox user, likewise. Raises RefusedError, ValueError."""
    _require_sandbox(requirement.user)
    return close_requirement(requirement_id=requirement.pk, by=_account(), source=_source(request_id))


def _require_sandbox(user: User) -> None:
    if not user.is_sandbox:
        raise ValueError("Decisions about real users are not simulated.")


def _source(request_id: str) -> str:
    return f"sandbox request {request_id}"


def _account() -> Staff:
    # Nobody can log in to it.
    unusable = {"is_staff": False, "password": "!"}
    account, is_new = Staff.objects.get_or_create(username=Staff.SANDBOX, defaults=unusable)
    if is_new:
        account.groups.add(Group.objects.get(name=ROLE))
    return account
