"""Claims on cases: one person at a time works on a case, until they decide it or release it."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from core.database import statements
from core.database.statements import PRESENT
from core.refusals import RefusedError
from staff.models import Staff
from users.models import AccessKind, AccessRecord, Claim, Proposal, Status, User
from users.models.case import live
from users.refusals import require_permission

CLAIM = "claim_user"
PERMISSION = f"users.{CLAIM}"
# After this time others may release a claim too.
HELD_FOR = timedelta(hours=8)
# The number of a person's claims that are read.
MAX_CLAIMS_READ = 1_000


def claim(*, user: User, staff: Staff, request_id: str = "") -> Claim:
    """Claim a waiting case that nobody else has claimed; again, it changes nothing. Raises RefusedError."""
    require_permission(staff, CLAIM)
    with transaction.atomic():
        present = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if not needs_decision(present):
            raise RefusedError(_("This case is not waiting for a decision."))
        held = _claimed(present, staff, request_id)[0]
    if held.staff_id != staff.pk:
        raise RefusedError(_("%(name)s has claimed this case.") % {"name": held.staff.get_username()})
    return held


def next_case(*, staff: Staff, request_id: str = "") -> User | None:
    """The waiting case of a real user that this person has claimed, or else the first free one, which they claim now.

    Two simultaneous callers get different cases. Raises RefusedError.
    """
    require_permission(staff, CLAIM)
    with transaction.atomic():
        # Somebody who presses twice gets one case.
        Staff.objects.select_for_update(no_key=True).get(pk=staff.pk)
        if (held := current_case(staff)) is not None:
            return held
        # Those that wait for a second person or for the partner have lists of their own.
        proposed = Proposal.objects.open().filter(user=OuterRef("pk"))
        free = live(_queue().filter(~Exists(proposed), claim__isnull=True))
        while (user := free.select_for_update(no_key=True, skip_locked=True, of=("self",)).first()) is not None:
            # Another transaction may have claimed it between this statement's snapshot and its lock.
            if _claimed(user, staff, request_id)[1]:
                return user
    return None


def current_case(staff: Staff) -> User | None:
    """The longest-waiting of the cases of real users that this person has claimed, or None."""
    # The few claims first, then by primary key: for a join the planner may scan all waiting users.
    claimed = live(Claim.objects.filter(staff=staff)).values_list("user_id", flat=True)[:MAX_CLAIMS_READ]
    return _queue().filter(pk__in=list(claimed)).first()


def release(*, user: User, staff: Staff, request_id: str = "") -> None:
    """End the claim on a case, if there is one. Raises RefusedError where may_release() is false."""
    require_permission(staff, CLAIM)
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        held = Claim.objects.select_related("staff").filter(pk=user.pk).first()
        if held is None:
            return
        if not may_release(held, staff):
            raise RefusedError(
                _("%(name)s has claimed this case; others can release it %(hours)s hours after that.")
                % {"name": held.staff.get_username(), "hours": HELD_FOR // timedelta(hours=1)}
            )
        held.delete()
        detail = "" if held.staff_id == staff.pk else f"Held by {held.staff.get_username()}."
        AccessRecord.objects.create(
            kind=AccessKind.RELEASED, user=user, staff=staff, request_id=request_id, detail=detail
        )


def release_all(*, staff: Staff, by: Staff | None, **_signal: Any) -> dict[str, int]:
    """End all claims of an account that is disabled (account_disabling); their number. by: None for an operator."""
    held = Claim.objects.filter(staff=staff).values("user_id")
    # Locked, as for a release.
    cases = list(User.objects.filter(pk__in=held).order_by("pk").select_for_update(no_key=True))
    detail = f"Account {staff.get_username()} disabled."
    if by is None:
        # An operator has no account: the row names the holder, its detail who released the claim.
        (operator,) = statements.fetch_one(f"SELECT {PRESENT} ->> 'operator'", ()) or (None,)
        detail = f"Released by the operator {operator}, who disabled the account."
    releases = [AccessRecord(kind=AccessKind.RELEASED, user=case, staff=by or staff, detail=detail) for case in cases]
    AccessRecord.objects.bulk_create(releases)
    Claim.objects.filter(user__in=cases, staff=staff).delete()
    return {"claims": len(releases)}


def take_over(*, user_id: UUID, by: Staff) -> None:
    """Give a case that somebody else has claimed to `by`, and record it. In a transaction, with what `by` does then."""
    user = User.objects.select_for_update(no_key=True).get(pk=user_id)
    present = holder(user)
    if present is None or present == by:
        return
    Claim.objects.filter(user=user).delete()
    Claim.objects.create(user=user, staff=by)
    detail = f"Taken over from {present.get_username()}."
    AccessRecord.objects.create(kind=AccessKind.CLAIMED, user=user, staff=by, detail=detail)


def holder(user: User) -> Staff | None:
    """The person who has claimed this case, or None."""
    held = Claim.objects.select_related("staff").filter(pk=user.pk).first()
    return held.staff if held else None


def needs_decision(user: User) -> bool:
    """Whether the user is waiting for a first decision, or for a review of a changed name or birth date."""
    return user.status == Status.PENDING_COMPLIANCE or user.identity_changed_at is not None


def may_release(held: Claim, staff: Staff) -> bool:
    """Whether this person may release the case: its holder, or anybody after HELD_FOR or once the holder has left."""
    return held.staff_id == staff.pk or not held.staff.is_active or held.claimed_at <= timezone.now() - HELD_FOR


def _queue() -> QuerySet[User]:
    waiting = User.objects.filter(status=Status.PENDING_COMPLIANCE, waiting_since__isnull=False)
    return waiting.order_by("waiting_since", "id")


def _claimed(user: User, staff: Staff, request_id: str) -> tuple[Claim, bool]:
    """The claim on a locked user, and whether it is new, and recorded."""
    claim, is_new = Claim.objects.select_related("staff").get_or_create(user=user, defaults={"staff": staff})
    if is_new:
        AccessRecord.objects.create(kind=AccessKind.CLAIMED, user=user, staff=staff, request_id=request_id)
    return claim, is_new
