"""Holds: what keeps a user's records whatever the clock says. One person places them, another releases them."""

from uuid import UUID

from django.db import models, transaction
from django.utils.translation import gettext as _

from core.database import history_context
from core.refusals import RefusedError
from staff.models import Staff
from users.decisions.compliance import check_length
from users.models import Hold, HoldRelease, User
from users.refusals import refused_by_database

# Of who may decide, and of auditors.
PERMISSION = "users.keep_records"


def require_keeper(staff: Staff) -> None:
    """Raises RefusedError for an account that may neither hold records nor propose or approve their erasure."""
    if not (staff.is_active and staff.has_perm(PERMISSION)):
        raise RefusedError(_("%(name)s may not hold or erase records.") % {"name": staff.get_username()})


def is_held(user: User) -> bool:
    """Whether a hold keeps the user's records."""
    return in_force(user.holds.all()).exists()


def in_force(holds: models.QuerySet[Hold]) -> models.QuerySet[Hold]:
    """Those of the holds that nobody has released."""
    return holds.filter(release=None)


def place_hold(*, user_id: UUID, by: Staff, reason: str, source: str = "") -> Hold:
    """Keep the records of a real user until another person releases the hold.

    by: an active account that may decide, or audits. reason: 1 to 2000 characters, which stay with the user.
    source: the origin that the history names, such as a request's id.
    Raises RefusedError, User.DoesNotExist; nothing has changed then.
    """
    reason = reason.strip()
    check_length(reason)
    with transaction.atomic(), refused_by_database(name=by.get_username()):
        # Waits for an erasure; then there is no such user.
        user = User.objects.select_for_update(no_key=True).get(pk=user_id)
        history_context.set_context(staff=by.get_username(), source=source)
        return Hold.objects.create(user=user, by=by, reason=reason)


def release_hold(*, hold_id: UUID, by: Staff, reason: str, source: str = "") -> HoldRelease:
    """End a hold. The arguments are those of place_hold; `by` is another account than the one that placed it.

    Raises RefusedError, Hold.DoesNotExist; nothing has changed then.
    """
    reason = reason.strip()
    check_length(reason)
    hold = Hold.objects.get(pk=hold_id)
    with transaction.atomic(), refused_by_database(name=by.get_username()):
        history_context.set_context(staff=by.get_username(), source=source)
        return HoldRelease.objects.create(hold=hold, by=by, reason=reason)
