"""Decisions on what a page showed: a move of the status, or the review of a changed name or birth date.

compliance.change_status has the rules of moves. In addition, nothing may have changed since the page was loaded, and
nobody else may have claimed the case.
"""

from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from partners.db import history_context
from users.models import AccessKind, AccessRecord, Claim, Staff, StatusChange, User
from users.models.columns import IDENTITY_PERMISSION
from users.services import claims, compliance
from users.services.changes import Meanwhile, Version, changes_meanwhile
from users.services.compliance import DecisionRefusedError


class StaleError(DecisionRefusedError):
    """The user has changed since the page was loaded. meanwhile: the changes that the person may see."""

    def __init__(self, meanwhile: Meanwhile) -> None:
        super().__init__(_("The user has changed since you loaded the page. Look again, then decide."))
        self.meanwhile = meanwhile


def decide(
    *,
    user_id: UUID,
    shown: Version | None,
    to_status: str,
    reason: str,
    reason_code: str = "",
    by: Staff,
    source: str,
) -> StatusChange:
    """Move a user's status.

    shown: the version on which the person decided. The other arguments: see compliance.change_status.
    Raises StaleError, DecisionRefusedError, User.DoesNotExist; nothing has changed then.
    """
    with transaction.atomic():
        return compliance.change_status(
            user=_lock(user_id, shown=shown, by=by),
            to_status=to_status,
            by=by,
            reason=reason,
            reason_code=reason_code,
            source=source,
        )


def mark_reviewed(*, user_id: UUID, shown: Version | None, by: Staff, request_id: str = "") -> AccessRecord:
    """Record that an active user's changed name or birth date was reviewed and is in order; ends the claim.

    The status stays. A trigger on the access record takes the user off the list of changed users.
    shown: the version that the person reviewed.
    Raises StaleError, DecisionRefusedError, User.DoesNotExist; nothing has changed then.
    """
    compliance.require_permission(by)
    with transaction.atomic():
        user = _lock(user_id, shown=shown, by=by)
        if user.identity_changed_at is None:
            raise DecisionRefusedError(_("This change has been reviewed already."))
        Claim.objects.filter(pk=user_id).delete()
        # The trigger updates the user's row, whose history names the person.
        history_context.set_context(staff=by.get_username(), source=f"request {request_id}" if request_id else "review")
        return AccessRecord.objects.create(kind=AccessKind.REVIEWED, user=user, staff=by, request_id=request_id)


def _lock(user_id: UUID, *, shown: Version | None, by: Staff) -> User:
    """The user, locked until the transaction ends, in the version shown and not claimed by anybody else."""
    user = User.objects.select_for_update(no_key=True).get(pk=user_id)
    if shown is None or shown != Version.of(user):
        raise StaleError(changes_meanwhile(user, shown, sees_identity=by.has_perm(IDENTITY_PERMISSION)))
    holder = claims.holder(user)
    if holder is not None and holder != by:
        raise DecisionRefusedError(_("%(name)s has claimed this case.") % {"name": holder.get_username()})
    return user
