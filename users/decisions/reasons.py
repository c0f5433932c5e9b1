"""The reasons of each move of a status, and which of them need a note (contract, section 13)."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, override, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from users.models import Proposal, Status, StatusChange


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for a decision. code: stored with it, for statistics. label: for staff."""

    code: str
    label: Any

    def text(self) -> str:
        """The label in English: stored reasons do not depend on the language of the person who decided."""
        with override(None):
            return str(self.label)


OTHER = Reason("other", _("Other: explain in the note"))
# Moves that always need a note.
NOTED = frozenset({Status.REJECTED, Status.SUSPENDED, Status.CLOSED})

_DUPLICATE = Reason("duplicate", _("Duplicate account"))
_FRAUD = Reason("fraudSuspected", _("Fraud suspected"))
_LISTED = Reason("listed", _("On a sanctions or watch list"))
_PARTNER_REQUEST = Reason("partnerRequest", _("Requested by the partner"))
_USER_REQUEST = Reason("userRequest", _("Requested by the user"))
_VERIFIED = Reason("verified", _("Identity and address verified"))

_NOT_SERVED = Reason("notServed", _("Not eligible for the service"))

_CLOSING = (
    *(_USER_REQUEST, _PARTNER_REQUEST, _DUPLICATE, Reason("fraudConfirmed", _("Fraud confirmed"))),
    *(_LISTED, _NOT_SERVED, OTHER),
)

REASONS: dict[tuple[str, str], tuple[Reason, ...]] = {
    (Status.PENDING_COMPLIANCE, Status.ACTIVE): (
        _VERIFIED,
        Reason("riskFlagsExplained", _("Verified; the risk flags are explained")),
        OTHER,
    ),
    (Status.PENDING_COMPLIANCE, Status.REJECTED): (
        Reason("notVerified", _("Identity or address could not be verified")),
        _DUPLICATE,
        _LISTED,
        _FRAUD,
        _NOT_SERVED,
        OTHER,
    ),
    (Status.ACTIVE, Status.SUSPENDED): (
        Reason("profileChanged", _("Profile changed, verification needed")),
        Reason("unusualActivity", _("Unusual conversions")),
        _FRAUD,
        _LISTED,
        _PARTNER_REQUEST,
        OTHER,
    ),
    (Status.ACTIVE, Status.CLOSED): _CLOSING,
    (Status.SUSPENDED, Status.ACTIVE): (Reason("cleared", _("Investigated and cleared")), _VERIFIED, OTHER),
    (Status.SUSPENDED, Status.CLOSED): _CLOSING,
    (Status.REJECTED, Status.PENDING_COMPLIANCE): (
        Reason("newInformation", _("New information")),
        Reason("rejectedInError", _("Rejected in error")),
        OTHER,
    ),
}


_MOVES: dict[tuple[Status, Status], Any] = {
    (Status.PENDING_COMPLIANCE, Status.ACTIVE): pgettext_lazy("user", "Approved"),
    (Status.PENDING_COMPLIANCE, Status.REJECTED): pgettext_lazy("user", "Rejected"),
    (Status.ACTIVE, Status.SUSPENDED): pgettext_lazy("user", "Suspended"),
    (Status.ACTIVE, Status.CLOSED): pgettext_lazy("user", "Closed"),
    (Status.SUSPENDED, Status.ACTIVE): pgettext_lazy("user", "Reinstated"),
    (Status.SUSPENDED, Status.CLOSED): pgettext_lazy("user", "Closed"),
    (Status.REJECTED, Status.PENDING_COMPLIANCE): pgettext_lazy("user", "Reopened"),
}


def reasons_for(present: str, to_status: str) -> tuple[Reason, ...]:
    """The reasons for a move, the most likely first; none for a move that is not allowed."""
    return REASONS.get((present, to_status), ())


def allowed_codes(present: str, to_status: str) -> tuple[str, ...]:
    """The codes of a move's reasons."""
    return tuple(reason.code for reason in reasons_for(present, to_status))


def label_of(code: str) -> str:
    """The label of a stored code; the code itself where it is not in the table."""
    return next((str(reason.label) for reasons in REASONS.values() for reason in reasons if reason.code == code), code)


def text_of(code: str) -> str:
    """The text of a stored code in English, as a reason that is it alone was stored; empty where none has it."""
    return next((reason.text() for reasons in REASONS.values() for reason in reasons if reason.code == code), "")


def move_of(decision: StatusChange) -> Any:
    """What was decided, in a word about the user."""
    return _MOVES[Status(decision.from_status), Status(decision.to_status)]


def note_of(decision: StatusChange | Proposal) -> str:
    """What the person wrote; empty where the recorded reason is the text of the code alone."""
    move = (Status(decision.from_status), Status(decision.to_status))
    texts = {reason.text() for reason in reasons_for(*move) if reason.code == decision.reason_code}
    return "" if decision.reason in texts else decision.reason


def needs_note(to_status: str, code: str) -> bool:
    """Whether a decision needs a note beside its code; see also risk_flags.approval_needs_note."""
    return to_status in NOTED or code == OTHER.code


def is_standard(reason: str, present: str, to_status: str) -> bool:
    """Whether a reason is the text of one of the move's codes alone, without a note."""
    return reason in {one.text() for one in reasons_for(present, to_status)}


def common_maker_note(makers: str) -> str:
    """What every place says of a decision of two accounts with a common maker; empty where there is none."""
    if not makers:
        return ""
    return gettext("both accounts made, re-roled or reset by %(makers)s within 30 days") % {"makers": makers}


def people_of(change: StatusChange) -> list[str]:
    """Who decided: of two people the one who approved, the one who proposed, and who made both of late, if anybody."""
    by = change.by.get_username()
    if change.proposal is None:
        return [by]
    proposed = gettext("proposed by %(name)s") % {"name": change.proposal.by.get_username()}
    return [by, *filter(None, (proposed, common_maker_note(change.common_maker)))]
