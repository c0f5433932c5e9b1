"""The only way a status moves: contract, section 8. The back office and the commands call it."""

from django.db import transaction
from django.utils.translation import gettext as _

from partners.db import history_context
from users.models import Claim, Staff, StatusChange, User
from users.models.statuses import TRANSITIONS, Status

REASON_LENGTH = 2000
REASON_CODE_LENGTH = 50
PERMISSION = "users.decide_user"


class DecisionRefusedError(Exception):
    """A move that the rules do not allow; its text says why, for people."""


def allowed_moves(status: str) -> tuple[Status, ...]:
    """The statuses that a user in `status` may move to."""
    return TRANSITIONS[Status(status)]


def change_status(
    *, user: User, to_status: str, by: Staff, reason: str, reason_code: str = "", source: str = ""
) -> StatusChange:
    """Moves a user's status and keeps for good who did it, when and why.

    by: an active staff account with the permission to decide. reason: 1 to 2000 characters.
    reason_code: at most 50.
    source: what the history is to name as the way in, such as a request's id or a command.
    Raises DecisionRefusedError; nothing has changed then.
    """
    reason, reason_code = reason.strip(), reason_code.strip()
    if not (by.is_active and by.has_perm(PERMISSION)):
        raise DecisionRefusedError(_("%(name)s may not decide about users.") % {"name": by.get_username()})
    if to_status not in Status.values:
        raise DecisionRefusedError(
            _("There is no such status; there are %(statuses)s.") % {"statuses": ", ".join(Status.values)}
        )
    if not reason:
        raise DecisionRefusedError(_("A reason is required."))
    if len(reason) > REASON_LENGTH:
        raise DecisionRefusedError(_("The reason must be at most %(most)s characters.") % {"most": REASON_LENGTH})
    if len(reason_code) > REASON_CODE_LENGTH:
        raise DecisionRefusedError(
            _("The reason code must be at most %(most)s characters.") % {"most": REASON_CODE_LENGTH}
        )
    with transaction.atomic():
        # The row as it is now, held until the move is made: two decisions at once are one and a refusal.
        present = Status(User.objects.select_for_update(no_key=True).values_list("status", flat=True).get(pk=user.pk))
        if to_status not in allowed_moves(present):
            raise DecisionRefusedError(_not_allowed(present, to_status))
        # Decided: whoever had claimed the case need not give it back.
        Claim.objects.filter(user=user).delete()
        history_context.set_context(staff=by.get_username(), source=source)
        change = StatusChange.objects.create(
            user=user, from_status=present, to_status=to_status, by=by, reason=reason, reason_code=reason_code
        )
    user.refresh_from_db()
    return change


def _not_allowed(present: Status, to_status: str) -> str:
    if to_status == present:
        return _("The user is %(status)s already.") % {"status": present.value}
    moves = ", ".join(status.value for status in allowed_moves(present)) or _("nothing: it is final")
    return _("A user who is %(present)s cannot become %(wanted)s; allowed: %(moves)s.") % {
        "present": present.value,
        "wanted": to_status,
        "moves": moves,
    }
