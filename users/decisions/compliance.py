"""Decisions: moves of a user's status (contract, section 8).

The back office, the commands and the sandbox call these, and proposals.py where a move takes two people. They refuse
where somebody else has claimed the case, or where it has changed since the page was shown. Each keeps what the
case showed (users/decisions/decision_basis.py).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

import structlog
from django.db import DatabaseError, IntegrityError, OperationalError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from psycopg.errors import IntegrityConstraintViolation, LockNotAvailable

from core.database import errors, history_context
from core.refusals import RefusedError
from staff.models import Staff
from users.cases import claims
from users.decisions import decision_basis, metrics
from users.decisions.approval_rules import needs_two
from users.decisions.changes import ConcurrentChanges, changes_since, version_of
from users.decisions.reasons import allowed_codes, is_standard
from users.decisions.risk_flags import approval_needs_note, risk_flag_codes
from users.models import CaseNote, Claim, Proposal, StatusChange, User
from users.models.columns import IDENTITY_PERMISSION
from users.models.statuses import TRANSITIONS, Status

log = structlog.get_logger("users.decisions")

REASON_LENGTH = 2000
REASON_CODE_LENGTH = 50
MAX_NOTE_LENGTH = 500
CASE_NOTE_LENGTH = 2000
PERMISSION = "users.decide_user"


class ReasonMissingError(RefusedError):
    """The move is allowed, but has no reason."""


class ReasonCodeError(RefusedError):
    """The reason's code is not one of the move's, which the text lists."""


class StaleError(RefusedError):
    """The user has changed since the page was loaded. changes: those that the person may see."""

    def __init__(self, changes: ConcurrentChanges) -> None:
        super().__init__(_("The user has changed since you loaded the page. Look again, then decide."))
        self.changes = changes


def allowed_moves(status: str) -> tuple[Status, ...]:
    """The statuses that a user in `status` may move to."""
    return TRANSITIONS[Status(status)]


def permitted_actions(*, user: User, claim: Claim | None, staff: Staff) -> dict[str, bool]:
    """Whether this person may claim the case, and release it. claim: the case's, if any."""
    may_claim = staff.has_perm(claims.PERMISSION)
    return {
        "claim": may_claim and claim is None and claims.needs_decision(user),
        "release": may_claim and claim is not None and claims.may_release(claim, staff),
    }


def change_status(
    *,
    user: User,
    to_status: str,
    by: Staff,
    reason: str,
    reason_code: str | None = None,
    source: str = "",
    expected_version: str | None = None,
    proposal: Proposal | None = None,
) -> StatusChange:
    """Move a user's status, record who did it, when and why, and end the claim on the case.

    reason: 1 to 2000 characters. reason_code: one of the move's; None without one.
    source: the origin that the history names, such as a request's id or a command.
    expected_version: the `version_of` the user on which the person decided; None without a page.
    proposal: that `by` approves (users/decisions/proposals.py), where the move takes two people.
    Raises RefusedError, StaleError, User.DoesNotExist; nothing has changed then.
    """
    reason = reason.strip()
    require_permission(by)
    with refused_by_database(), transaction.atomic():
        # Locked: of two decisions at once, the second is checked against the result of the first.
        locked = lock(user.pk, expected_version=expected_version, by=by)
        present = Status(locked.status)
        check_move(present, to_status)
        check_reason_code(reason_code, present, to_status)
        check_reason(reason)
        check_reason_explains(reason, locked, to_status)
        _check_people(locked, to_status, proposal)
        if refusal := blocking_reason(locked, to_status):
            raise RefusedError(refusal)
        # No person made a simulated decision.
        basis = None if _is_simulated(by) else decision_basis.collect(user=locked, by=by, source=source)
        Claim.objects.filter(user=user).delete()
        history_context.set_context(staff=by.get_username(), source=source)
        change = StatusChange.objects.create(
            user=user,
            from_status=present,
            to_status=to_status,
            by=by,
            reason=reason,
            reason_code=reason_code or "",
            proposal=proposal,
            basis=basis,
        )
        metrics.count_decision(change)
    user.refresh_from_db()
    return change


def add_note(*, user: User, text: str, by: Staff) -> CaseNote:
    """Add a note to a user's case; the status stays, and so does any claim.

    text: 1 to 2000 characters. Raises RefusedError; nothing is recorded then.
    """
    text = text.strip()
    require_permission(by)
    if not text:
        raise RefusedError(_("A note is required."))
    if len(text) > CASE_NOTE_LENGTH:
        raise RefusedError(_("The note must be at most %(most)s characters.") % {"most": CASE_NOTE_LENGTH})
    return CaseNote.objects.create(user=user, text=text, staff=by)


def require_permission(staff: Staff) -> None:
    """Raises RefusedError for an account that may not decide."""
    if not (staff.is_active and staff.has_perm(PERMISSION)):
        raise RefusedError(_("%(name)s may not decide about users.") % {"name": staff.get_username()})


def check_move(present: str, to_status: str) -> None:
    """Raises RefusedError for a move that nobody may make."""
    if to_status in allowed_moves(present):
        return
    if to_status not in Status.values:
        raise RefusedError(_("Unknown status; one of: %(statuses)s.") % {"statuses": ", ".join(Status.values)})
    if to_status == present:
        raise RefusedError(_("The user is %(status)s already.") % {"status": present})
    moves = ", ".join(allowed_moves(present)) or _("nothing: it is final")
    raise RefusedError(
        _("A user who is %(present)s cannot become %(wanted)s; allowed: %(moves)s.")
        % {"present": present, "wanted": to_status, "moves": moves}
    )


def _check_people(user: User, to_status: str, proposal: Proposal | None) -> None:
    """Refuse a decision of one person where it takes two, and of two where it takes one."""
    if needs_two(user, to_status):
        if proposal is None:
            found = user.proposals.open().first()
            open_one = _("Open proposal: %(id)s.") % {"id": found.pk} if found else _("There is no open proposal.")
            raise RefusedError(_("This move takes two people: propose it (propose_user_status).") + " " + open_one)
    elif proposal is not None:
        raise RefusedError(_("This move takes one person by now: decline the proposal and decide."))


def blocking_reason(user: User, to_status: str) -> str:
    """Why the user may not be let through yet: the partner has to answer (contract, section 13); empty if it may."""
    if to_status != Status.ACTIVE or not user.open_requirements:
        return ""
    return ngettext(
        "%(count)s requirement is open: wait for the partner's answer, or close it first.",
        "%(count)s requirements are open: wait for the partner's answers, or close them first.",
        user.open_requirements,
    ) % {"count": user.open_requirements}


def check_reason_code(reason_code: str | None, present: str, to_status: str) -> None:
    """Raises ReasonCodeError for a code that is not one of the move's, the empty one included; None is absent."""
    allowed = allowed_codes(Status(present), Status(to_status))
    if reason_code is not None and reason_code not in allowed:
        raise ReasonCodeError(_("Unknown reason code; one of: %(codes)s.") % {"codes": ", ".join(allowed)})


def check_reason(reason: str) -> None:
    """Raises ReasonMissingError without a reason, RefusedError for one that is too long."""
    if not reason:
        raise ReasonMissingError(_("A reason is required."))
    if len(reason) > REASON_LENGTH:
        raise RefusedError(_("The reason must be at most %(most)s characters.") % {"most": REASON_LENGTH})


def check_reason_explains(reason: str, user: User, to_status: str) -> None:
    """Raises ReasonMissingError for a standard reason alone where the risk flags ask for a note."""
    is_bare = to_status == Status.ACTIVE and is_standard(reason, Status(user.status), Status.ACTIVE)
    if is_bare and approval_needs_note(risk_flag_codes([user])[user.pk]):
        raise ReasonMissingError(_("The user was rejected before and has changed since: add a note that says why."))


def check_note(note: str) -> None:
    """Raises ReasonMissingError without a note, RefusedError for one that is too long."""
    if not note:
        raise ReasonMissingError(_("A note is required."))
    if len(note) > MAX_NOTE_LENGTH:
        raise RefusedError(_("The note must be at most %(most)s characters.") % {"most": MAX_NOTE_LENGTH})


def lock(user_id: UUID, *, expected_version: str | None, by: Staff) -> User:
    """The user, locked until the transaction ends, in the version shown and not claimed by anybody else.

    expected_version: None where there was no page. Raises StaleError, RefusedError.
    """
    user = User.objects.select_for_update(no_key=True).get(pk=user_id)
    if expected_version is not None and expected_version != version_of(user):
        raise StaleError(changes_since(user, expected_version, sees_identity=by.has_perm(IDENTITY_PERMISSION)))
    # No person made a sandbox decision: no claim stops it.
    holder = None if _is_simulated(by) else claims.holder(user)
    if holder is not None and holder != by:
        raise RefusedError(_("%(name)s has claimed this case.") % {"name": holder.get_username()})
    return user


def _is_simulated(by: Staff) -> bool:
    return by.username == Staff.SANDBOX


def refusal_of(act: Callable[[], object]) -> str:
    """Why one of several decisions was refused, by the rules or by whatever the database says; empty if it was not."""
    try:
        with convert_lock_timeout():
            act()
    except RefusedError as refused:
        return str(refused)
    except DatabaseError as error:
        # Its text may have values of the row.
        log.warning("decision failed", sqlstate=errors.sqlstate(error))
        return _("The database refused this: nothing has changed. Try again.")
    return ""


@contextmanager
def refused_by_database() -> Iterator[None]:
    """Raise RefusedError where a trigger refuses: what was checked here has changed in the meantime.

    Used around a transaction.
    """
    try:
        yield
    except IntegrityError as error:
        if not isinstance(error.__cause__, IntegrityConstraintViolation) or not error.__cause__.diag.message_primary:
            raise
        raise RefusedError(
            _("Something has changed meanwhile. Look again: %(why)s") % {"why": error.__cause__.diag.message_primary}
        ) from error


@contextmanager
def convert_lock_timeout() -> Iterator[None]:
    """Raise RefusedError in place of the database's error. Used around a transaction on one user."""
    try:
        yield
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise RefusedError(_("The user is being changed right now: try again.")) from None
