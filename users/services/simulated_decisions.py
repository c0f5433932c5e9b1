"""Decisions that a sandbox partner simulates: contract, section 11."""

from django.contrib.auth.models import Group

from users.models import Staff, StatusChange, User
from users.services.compliance import change_status

ROLE = "reviewer"
REASON = "Simulated by the partner."


def simulate_decision(*, user: User, to_status: str, request_id: str) -> StatusChange:
    """Move the status of a sandbox user by the rules of section 8, in the name of the account `sandbox`.

    Raises DecisionRefusedError. Raises ValueError for a user who is real.
    """
    if not user.is_sandbox:
        raise ValueError("Decisions about real users are not simulated.")
    return change_status(
        user=user, to_status=to_status, by=_account(), reason=REASON, source=f"sandbox request {request_id}"
    )


def _account() -> Staff:
    # Nobody can log in to it.
    unusable = {"is_staff": False, "password": "!"}
    account, is_new = Staff.objects.get_or_create(username=Staff.SANDBOX, defaults=unusable)
    if is_new:
        account.groups.add(Group.objects.get(name=ROLE))
    return account
