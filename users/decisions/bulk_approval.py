"""Approval of several cases: each by the rules of a single decision, in a transaction of its own.

One rule more: a case with risk flags that are not harmless is approved only after somebody who may decide has seen
them all.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db.models import DateTimeField, Func, OuterRef, QuerySet, Subquery
from django.db.models.functions import Greatest
from django.utils.translation import gettext as _

from partners.refusals import RefusedError
from users.decisions import compliance, proposals
from users.decisions.changes import ConcurrentChanges
from users.decisions.risk_flags import (
    INACTIVE_CONVERSION,
    OTHERS,
    Weight,
    risk_flag_codes,
    same_email,
    same_person,
    weight_of,
)
from users.models import Proposal, Staff, Status, User

MAX_CASES = 100


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen row, in the version that the page showed."""

    user_id: UUID
    expected_version: str

    @classmethod
    def parse(cls, text: str) -> "Choice | None":
        """The choice that `str` wrote; None where it does not begin with a userId."""
        pk, _separator, version = text.partition("/")
        try:
            return cls(UUID(pk), version)
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.user_id}/{self.expected_version}"


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a choice. refusal: why nothing has changed; empty where the user was approved, or proposed."""

    choice: Choice
    refusal: str
    user: User | None = None
    is_proposed: bool = False


def approve_all(*, choices: Sequence[Choice], reason: str, reason_code: str, by: Staff, source: str) -> list[Result]:
    """Approve each of these users whom the rules allow, or propose it where that takes two people.

    The results are in the order of choices. Raises RefusedError.
    """
    if len(choices) > MAX_CASES:
        raise RefusedError(
            _("At most %(most)s at a time: %(chosen)s are chosen.") % {"most": MAX_CASES, "chosen": len(choices)}
        )
    user_ids = [choice.user_id for choice in choices]
    # One after the other: the earlier ones may take a while, and another user may be registered in between.
    results = [
        Result(choice, _("It has risk flags that nobody who may decide has seen: open it first."))
        if users_with_unseen_flags([choice.user_id])
        else _approve(choice, reason=reason, reason_code=reason_code, by=by, source=source)
        for choice in choices
    ]
    users = User.objects.select_related("partner").in_bulk(user_ids)
    return [replace(result, user=users.get(result.choice.user_id)) for result in results]


def users_with_unseen_flags(user_ids: Collection[UUID]) -> set[UUID]:
    """The pending users among these who have risk flags that nobody who may decide has seen. In two statements.

    Harmless flags do not count. A flag was seen where somebody who may decide has opened a page with risk flags, and
    since then neither the user nor another user with the same e-mail address or the same name and birth date was
    created or changed, nor a conversion recorded. Flags that the approver may not see count too.
    """
    pending = User.objects.filter(pk__in=user_ids, status=Status.PENDING_COMPLIANCE).annotate(
        # Anybody who may decide counts: they all see identity, and so all risk flags (users/staff/roles.py).
        opened_at=Func("pk", None, "status_since", function="users_opened_at", output_field=DateTimeField()),
        same_email_at=_last_change(same_email(OuterRef("email"), **OTHERS)),
        same_person_at=_last_change(same_person(OuterRef("name_key"), OuterRef("date_of_birth"), **OTHERS)),
        conversion_at=Subquery(
            User.objects.filter(INACTIVE_CONVERSION, pk=OuterRef("pk"))
            .order_by("-conversions__recorded_at")
            .values("conversions__recorded_at")[:1]
        ),
    )
    unopened = [user for user in pending if not _is_opened(user)]
    codes_by_user = risk_flag_codes(unopened)
    return {pk for pk, codes in codes_by_user.items() if any(weight_of(code) > Weight.HARMLESS for code in codes)}


def _is_opened(user: Any) -> bool:
    """Whether the last opening is at least as new as every change that may have caused a risk flag."""
    changes = (user.profile_changed_at, user.same_email_at, user.same_person_at, user.conversion_at)
    return user.opened_at is not None and all(change is None or change <= user.opened_at for change in changes)


def _last_change(others: QuerySet[User]) -> Subquery:
    # PostgreSQL's GREATEST ignores the null of a profile that never changed.
    changed = others.annotate(last_change=Greatest("created_at", "profile_changed_at"))
    return Subquery(changed.order_by("-last_change").values("last_change")[:1])


def _approve(choice: Choice, *, reason: str, reason_code: str, by: Staff, source: str) -> Result:
    """Approve one user, or propose it."""
    is_proposed = False

    def approve_or_propose() -> None:
        nonlocal is_proposed
        try:
            decided = proposals.decide_or_propose(
                user=User.objects.get(pk=choice.user_id),
                expected_version=choice.expected_version,
                to_status=Status.ACTIVE,
                reason=reason,
                reason_code=reason_code,
                by=by,
                source=source,
            )
        except compliance.StaleError as stale:
            raise RefusedError(_display_changes(stale.changes)) from None
        except User.DoesNotExist:
            raise RefusedError(_("User not found.")) from None
        is_proposed = isinstance(decided, Proposal)

    refusal = compliance.refusal_of(approve_or_propose)
    return Result(choice, refusal, is_proposed=is_proposed)


def _display_changes(changes: ConcurrentChanges) -> str:
    if changes.decisions:
        decision = changes.decisions[0]
        names = {"name": decision.by.get_username(), "status": Status(decision.to_status).label}
        return _("%(name)s has decided in the meantime: %(status)s.") % names
    if changes.fields:
        fields = ", ".join(str(field.label) for field in changes.fields)
        return _("Changed since you loaded the page: %(fields)s.") % {"fields": fields}
    if changes.answered_at:
        return _("The partner has answered since you loaded the page.")
    return _("Changed since you loaded the page.")
