"""Moves of a user's status: contract, section 8. The back office and the commands call change_status."""

from django.db import transaction
from django.utils.translation import gettext as _

from partners.db import history_context
from users.models import Claim, Staff, StatusChange, User
from users.models.statuses import TRANSITIONS, Status

REASON_LENGTH = 2000
REASON_CODE_LENGTH = 50
PERMISSION = "users.decide_user"


class DecisionRefusedError(Exception):
    """A decision that the rules do not allow. Its text says why, for people."""


class ReasonMissingError(DecisionRefusedError):
    """The move is allowed, but has no reason."""


def allowed_moves(status: str) -> tuple[Status, ...]:
    """The statuses that a user in `status` may move to."""
    return TRANSITIONS[Status(status)]


def change_status(
    *, user: User, to_status: str, by: Staff, reason: str, reason_code: str = "", source: str = ""
) -> StatusChange:
    """Move a user's status, record who did it, when and why, and end the claim on the case.

    reason: 1 to 2000 characters. reason_code: at most 50.
    source: the origin that the history names, such as a request's id or a command.
    Raises DecisionRefusedError; nothing has changed then.
    """
    reason, reason_code = reason.strip(), reason_code.strip()
    require_permission(by)
    with transaction.atomic():
        # Locked: of two decisions at once, the second is checked against the result of the first.
        present = Status(User.objects.select_for_update(no_key=True).values_list("status", flat=True).get(pk=user.pk))
        _check_move(present, to_status)
        _check_reason(reason, reason_code)
        Claim.objects.filter(user=user).delete()
        history_context.set_context(staff=by.get_username(), source=source)
        change = StatusChange.objects.create(
            user=user, from_status=present, to_status=to_status, by=by, reason=reason, reason_code=reason_code
        )
    user.refresh_from_db()
    return change


def require_permission(staff: Staff) -> None:
    """Raise DecisionRefusedError where this person may not decide."""
    if not (staff.is_active and staff.has_perm(PERMISSION)):
        raise DecisionRefusedError(_("%(name)s may not decide about users.") % {"name": staff.get_username()})


def _check_move(present: Status, to_status: str) -> None:
    if to_status in allowed_moves(present):
        return
    if to_status not in Status.values:
        raise DecisionRefusedError(_("Unknown status; one of: %(statuses)s.") % {"statuses": ", ".join(Status.values)})
    if to_status == present:
        raise DecisionRefusedError(_("The user is %(status)s already.") % {"status": present.value})
    moves = ", ".join(allowed_moves(present)) or _("nothing: it is final")
    raise DecisionRefusedError(
        _("A user who is %(present)s cannot become %(wanted)s; allowed: %(moves)s.")
        % {"present": present.value, "wanted": to_status, "moves": moves}
    )


def _check_reason(reason: str, reason_code: str) -> None:
    if not reason:
        raise ReasonMissingError(_("A reason is required."))
    if len(reason) > REASON_LENGTH:
        raise DecisionRefusedError(_("The reason must be at most %(most)s characters.") % {"most": REASON_LENGTH})
    if len(reason_code) > REASON_CODE_LENGTH:
        raise DecisionRefusedError(
            _("The reason code must be at most %(most)s characters.") % {"most": REASON_CODE_LENGTH}
        )
