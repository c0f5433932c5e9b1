"""Decisions: moves of a user's status (contract, section 8), and reviews of a changed name or birth date.

The commands call change_status, and proposals.py where a move takes two people. The back office calls decide and
mark_reviewed, which also check that nothing has changed since the page was loaded, and that nobody else has claimed the
case. Each keeps what the person saw (users/decisions/decision_basis.py).
"""

from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from partners.db import history_context
from users.cases import claims
from users.decisions import decision_basis
from users.decisions.approval_rules import needs_two
from users.decisions.changes import ConcurrentChanges, changes_since, version_of
from users.models import AccessKind, AccessRecord, Claim, Proposal, ProposalState, Staff, StatusChange, User
from users.models.columns import IDENTITY_PERMISSION
from users.models.statuses import TRANSITIONS, Status

REASON_LENGTH = 2000
REASON_CODE_LENGTH = 50
MAX_NOTE_LENGTH = 500
PERMISSION = "users.decide_user"


class DecisionRefusedError(Exception):
    """A decision that the rules do not allow. Its text says why, for people."""


class ReasonMissingError(DecisionRefusedError):
    """The move is allowed, but has no reason."""


class TwoPeopleError(DecisionRefusedError):
    """The move takes two people."""


class StaleError(DecisionRefusedError):
    """The user has changed since the page was loaded. changes: those that the person may see."""

    def __init__(self, changes: ConcurrentChanges) -> None:
        super().__init__(_("The user has changed since you loaded the page. Look again, then decide."))
        self.changes = changes


def allowed_moves(status: str) -> tuple[Status, ...]:
    """The statuses that a user in `status` may move to."""
    return TRANSITIONS[Status(status)]


def permitted_actions(*, user: User, claim: Claim | None, staff: Staff) -> dict[str, bool]:
    """Whether this person may mark the case as reviewed, claim it, and release it. claim: the case's, if any."""
    may_claim, is_claimed_by_other = staff.has_perm(claims.PERMISSION), claim is not None and claim.staff_id != staff.pk
    return {
        "reviewed": staff.has_perm(PERMISSION) and not is_claimed_by_other and user.identity_changed_at is not None,
        "claim": may_claim and claim is None and claims.needs_decision(user),
        "release": may_claim and claim is not None and claims.may_release(claim, staff),
    }


def change_status(
    *,
    user: User,
    to_status: str,
    by: Staff,
    reason: str,
    reason_code: str = "",
    source: str = "",
    signed: str = "",
    proposal: Proposal | None = None,
) -> StatusChange:
    """Move a user's status, record who did it, when and why, and end the claim on the case.

    reason: 1 to 2000 characters. reason_code: at most 50.
    source: the origin that the history names, such as a request's id or a command.
    signed: what the page showed on which the person decided; empty without a page.
    proposal: that `by` approves (users/decisions/proposals.py), where the move takes two people.
    Raises DecisionRefusedError; nothing has changed then.
    """
    reason, reason_code = reason.strip(), reason_code.strip()
    require_permission(by)
    with transaction.atomic():
        # Locked: of two decisions at once, the second is checked against the result of the first.
        locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        present = Status(locked.status)
        check_move(present, to_status)
        check_reason(reason, reason_code)
        _check_people(locked, to_status, proposal)
        if refusal := what_is_open(locked, to_status):
            raise DecisionRefusedError(refusal)
        # Simulated decisions are nobody's.
        is_simulated = by.username == Staff.SANDBOX
        basis = None if is_simulated else decision_basis.collect(user=locked, by=by, signed=signed, source=source)
        Claim.objects.filter(user=user).delete()
        history_context.set_context(staff=by.get_username(), source=source)
        change = StatusChange.objects.create(
            user=user,
            from_status=present,
            to_status=to_status,
            by=by,
            reason=reason,
            reason_code=reason_code,
            proposal=proposal,
        )
        if basis is not None:
            decision_basis.keep(basis, decision=change)
    user.refresh_from_db()
    return change


def decide(
    *,
    user_id: UUID,
    shown: str,
    to_status: str,
    reason: str,
    reason_code: str = "",
    by: Staff,
    source: str,
    signed: str = "",
) -> StatusChange:
    """Move a user's status.

    shown: the `version_of` the user on which the person decided. The other arguments: see change_status.
    Raises StaleError, DecisionRefusedError, User.DoesNotExist; nothing has changed then.
    """
    with transaction.atomic():
        return change_status(
            user=lock(user_id, shown=shown, by=by),
            to_status=to_status,
            by=by,
            reason=reason,
            reason_code=reason_code,
            source=source,
            signed=signed,
        )


def mark_reviewed(
    *, user_id: UUID, shown: str, note: str, by: Staff, request_id: str = "", signed: str = ""
) -> AccessRecord:
    """Record that an active user's changed name or birth date was reviewed and is in order; ends the claim.

    The status stays. A trigger on the access record takes the user off the list of changed users.
    shown: the version that the person reviewed. signed: see change_status. note: 1 to 500 characters.
    Raises StaleError, DecisionRefusedError, User.DoesNotExist; nothing has changed then.
    """
    require_permission(by)
    note = note.strip()
    with transaction.atomic():
        user = lock(user_id, shown=shown, by=by)
        if user.identity_changed_at is None:
            raise DecisionRefusedError(_("This change has been reviewed already."))
        check_note(note)
        _require_opening(user, by)
        # The trigger updates the user's row, whose history names the person.
        source = f"request {request_id}" if request_id else "review"
        basis = decision_basis.collect(user=user, by=by, signed=signed, source=source)
        Claim.objects.filter(pk=user_id).delete()
        history_context.set_context(staff=by.get_username(), source=source)
        review = AccessRecord.objects.create(
            kind=AccessKind.REVIEWED, user=user, staff=by, request_id=request_id, detail=note
        )
        decision_basis.keep(basis, review=review)
    return review


def require_permission(staff: Staff) -> None:
    """Raises DecisionRefusedError for an account that may not decide."""
    if not (staff.is_active and staff.has_perm(PERMISSION)):
        raise DecisionRefusedError(_("%(name)s may not decide about users.") % {"name": staff.get_username()})


def check_move(present: str, to_status: str) -> None:
    """Raises DecisionRefusedError for a move that nobody may make."""
    if to_status in allowed_moves(present):
        return
    if to_status not in Status.values:
        raise DecisionRefusedError(_("Unknown status; one of: %(statuses)s.") % {"statuses": ", ".join(Status.values)})
    if to_status == present:
        raise DecisionRefusedError(_("The user is %(status)s already.") % {"status": present})
    moves = ", ".join(allowed_moves(present)) or _("nothing: it is final")
    raise DecisionRefusedError(
        _("A user who is %(present)s cannot become %(wanted)s; allowed: %(moves)s.")
        % {"present": present, "wanted": to_status, "moves": moves}
    )


def _check_people(user: User, to_status: str, proposal: Proposal | None) -> None:
    """Refuse a decision of one person where it takes two, and of two where it takes one."""
    if needs_two(user, to_status):
        if proposal is None:
            found = user.proposals.filter(state=ProposalState.OPEN, user_updated_at=user.updated_at).first()
            open_one = _("Open proposal: %(id)s.") % {"id": found.pk} if found else _("There is no open proposal.")
            raise TwoPeopleError(_("This move takes two people: propose it (propose_user_status).") + " " + open_one)
    elif proposal is not None:
        raise DecisionRefusedError(_("This move takes one person by now: decline the proposal and decide."))


def what_is_open(user: User, to_status: str) -> str:
    """Why the user may not be let through yet: the partner has to answer (contract, section 13); empty if it may."""
    if to_status != Status.ACTIVE or not user.open_requirements:
        return ""
    return ngettext(
        "%(count)s requirement is open: wait for the partner's answer, or close it first.",
        "%(count)s requirements are open: wait for the partner's answers, or close them first.",
        user.open_requirements,
    ) % {"count": user.open_requirements}


def check_reason(reason: str, reason_code: str) -> None:
    """Raises ReasonMissingError without a reason, DecisionRefusedError for one that is too long."""
    if not reason:
        raise ReasonMissingError(_("A reason is required."))
    if len(reason) > REASON_LENGTH:
        raise DecisionRefusedError(_("The reason must be at most %(most)s characters.") % {"most": REASON_LENGTH})
    if len(reason_code) > REASON_CODE_LENGTH:
        raise DecisionRefusedError(
            _("The reason code must be at most %(most)s characters.") % {"most": REASON_CODE_LENGTH}
        )


def check_note(note: str) -> None:
    """Raises ReasonMissingError without a note, DecisionRefusedError for one that is too long."""
    if not note:
        raise ReasonMissingError(_("A note is required."))
    if len(note) > MAX_NOTE_LENGTH:
        raise DecisionRefusedError(_("The note must be at most %(most)s characters.") % {"most": MAX_NOTE_LENGTH})


def _require_opening(user: User, by: Staff) -> None:
    """Refuse a person who has not opened the case since the change."""
    openings = AccessRecord.objects.filter(user=user, staff=by, created_at__gte=user.identity_changed_at)
    if not openings.filter(kind=AccessKind.OPENED, detail__in=AccessRecord.PAGES_WITH_RISK_FLAGS).exists():
        raise DecisionRefusedError(_("Open the case first: nobody reviews a change unseen."))


def lock(user_id: UUID, *, shown: str | None, by: Staff) -> User:
    """The user, locked until the transaction ends, in the version shown and not claimed by anybody else.

    shown: None where there was no page; then a claim does not matter either. Raises StaleError, DecisionRefusedError.
    """
    user = User.objects.select_for_update(no_key=True).get(pk=user_id)
    if shown is None:
        return user
    if shown != version_of(user):
        raise StaleError(changes_since(user, shown, sees_identity=by.has_perm(IDENTITY_PERMISSION)))
    holder = claims.holder(user)
    if holder is not None and holder != by:
        raise DecisionRefusedError(_("%(name)s has claimed this case.") % {"name": holder.get_username()})
    return user
