"""Saying of an active user's changed name or birth date that it was looked at and is in order.

It moves no status; the access log keeps who did it, and a trigger on it takes the user off the list.
"""

from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from partners.db import history_context
from users.models import AccessKind, AccessRecord, Claim, Staff, User
from users.services import compliance
from users.services.changes import Version


class ReviewRefusedError(Exception):
    """A review that the rules do not allow; its text says why, for people."""


def mark_reviewed(*, user_id: UUID, shown: Version | None, by: Staff, request_id: str = "") -> AccessRecord:
    """Keeps that this person found the change in order; whoever had claimed the case need not give it back.

    shown: the version that they looked at.
    Raises ReviewRefusedError, User.DoesNotExist; nothing has changed then.
    """
    if not (by.is_active and by.has_perm(compliance.PERMISSION)):
        raise ReviewRefusedError(_("%(name)s may not decide about users.") % {"name": by.get_username()})
    with transaction.atomic():
        user = User.objects.select_for_update(no_key=True).get(pk=user_id)
        if user.identity_changed_at is None:
            raise ReviewRefusedError(_("Somebody has looked at this change already."))
        if shown != Version.of(user):
            raise ReviewRefusedError(_("The user has changed since you loaded the page: look again."))
        held = Claim.objects.select_related("staff").filter(pk=user_id).first()
        if held is not None and held.staff_id != by.pk:
            raise ReviewRefusedError(_("%(name)s has claimed this case.") % {"name": held.staff.get_username()})
        if held is not None:
            held.delete()
        # The trigger changes the user's row, whose history says who.
        history_context.set_context(staff=by.get_username(), source=f"request {request_id}" if request_id else "review")
        return AccessRecord.objects.create(kind=AccessKind.REVIEWED, user=user, staff=by, request_id=request_id)
