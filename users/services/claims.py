"""Who works on which case: one person at a time, until they decide or give it back.

Every claim and release is kept in the access log. A decision ends the claim by itself
(users/services/compliance.py).
"""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from partners.db import statements
from users.models import AccessKind, Claim, Staff, Status, User
from users.services import access_log

PERMISSION = "users.claim_user"
# How long nobody but its holder releases a claim. A case must not be lost because somebody went home.
HELD_FOR = timedelta(hours=8)
# So many of a person's claims are looked at; nobody works on more.
HELD_AT_MOST = 1_000

# By itself tells whether it was done; the ORM's ignore_conflicts does not.
_CLAIM = "INSERT INTO users_claim (user_id, staff_id) VALUES (%s, %s) ON CONFLICT DO NOTHING RETURNING user_id"


class ClaimRefusedError(Exception):
    """A claim or a release that the rules do not allow; its text says why, for people."""


def claim(*, user: User, staff: Staff, request_id: str = "") -> Claim:
    """Gives a waiting case to this person; where they hold it already, nothing changes.

    Raises ClaimRefusedError where the case does not wait, or somebody else holds it.
    """
    _require_permission(staff)
    with transaction.atomic():
        present = _lock(user)
        if not waits(present):
            raise ClaimRefusedError(_("This case does not wait for anybody: there is nothing to claim."))
        if _insert(present, staff, request_id):
            return Claim.objects.get(pk=present.pk)
        held = Claim.objects.select_related("staff").get(pk=present.pk)
    if held.staff_id != staff.pk:
        raise ClaimRefusedError(_("%(name)s has claimed this case.") % {"name": held.staff.get_username()})
    return held


def next_case(*, staff: Staff, request_id: str = "") -> User | None:
    """The waiting case that this person holds already, or else the longest-waiting free one, which is claimed for them.

    None where there is neither. Two people who ask at once get different cases. Raises ClaimRefusedError.
    """
    _require_permission(staff)
    if (held := case_in_hand(staff)) is not None:
        return held
    with transaction.atomic():
        while (user := _longest_waiting()) is not None:
            # False where it was claimed after this statement's snapshot and before its lock: look again.
            if _insert(user, staff, request_id):
                return user
    return None


def case_in_hand(staff: Staff) -> User | None:
    """The longest-waiting of the cases that this person has claimed and not decided; None where there is none."""
    # The few claims first, by primary key afterwards: a join would tempt the planner to walk all who wait.
    claimed = Claim.objects.filter(staff=staff).values_list("user_id", flat=True)[:HELD_AT_MOST]
    waiting = User.objects.filter(pk__in=list(claimed), status=Status.PENDING_COMPLIANCE)
    return waiting.order_by("status_since", "id").first()


def release(*, user: User, staff: Staff, request_id: str = "") -> None:
    """Gives a case back to the queue; where nobody holds it, nothing changes.

    Raises ClaimRefusedError where somebody else holds it: until HELD_FOR has passed, or their
    account is closed, only they release it.
    """
    _require_permission(staff)
    with transaction.atomic():
        _lock(user)
        held = Claim.objects.select_related("staff").filter(pk=user.pk).first()
        if held is None:
            return
        if not may_release(held, staff):
            raise ClaimRefusedError(
                _("%(name)s has claimed this case; others can release it %(hours)s hours after that.")
                % {"name": held.staff.get_username(), "hours": HELD_FOR // timedelta(hours=1)}
            )
        held.delete()
        detail = "" if held.staff_id == staff.pk else f"Held by {held.staff.get_username()}."
        access_log.record(kind=AccessKind.RELEASED, user=user, staff=staff, request_id=request_id, detail=detail)


def holder(user: User) -> Staff | None:
    """Who has claimed this case; None where nobody has."""
    held = Claim.objects.select_related("staff").filter(pk=user.pk).first()
    return held.staff if held else None


def waits(user: User) -> bool:
    """Whether somebody has to look at this user: for a first decision, or again."""
    return user.status == Status.PENDING_COMPLIANCE or user.identity_changed_at is not None


def may_release(held: Claim, staff: Staff) -> bool:
    """Whether this person may give the case back: its holder, or anybody once the holder seems gone."""
    return held.staff_id == staff.pk or not held.staff.is_active or held.claimed_at <= timezone.now() - HELD_FOR


def _require_permission(staff: Staff) -> None:
    if not (staff.is_active and staff.has_perm(PERMISSION)):
        raise ClaimRefusedError(_("%(name)s may not claim cases.") % {"name": staff.get_username()})


def _lock(user: User) -> User:
    # Claims, releases and decisions of one user come one after the other.
    return User.objects.select_for_update(no_key=True).get(pk=user.pk)


def _longest_waiting() -> User | None:
    return (
        User.objects.filter(status=Status.PENDING_COMPLIANCE, claim__isnull=True)
        .order_by("status_since", "id")
        .select_for_update(no_key=True, skip_locked=True, of=("self",))
        .first()
    )


def _insert(user: User, staff: Staff, request_id: str) -> bool:
    """Claims a locked user and records it; False where there is a claim already."""
    if statements.fetch_one(_CLAIM, (user.pk, staff.pk)) is None:
        return False
    access_log.record(kind=AccessKind.CLAIMED, user=user, staff=staff, request_id=request_id)
    return True
