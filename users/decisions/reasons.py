"""The reasons of each move of a status, and which of them need a note (contract, section 13)."""

from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext, override, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from users.models import Proposal, Status, StatusChange


class Reason(TextChoices):
    """The reasons for decisions: the codes are stored with them, the labels are for staff."""

    VERIFIED = "verified", _("Identity and address verified")
    RISK_FLAGS_EXPLAINED = "riskFlagsExplained", _("Verified; the risk flags are explained")
    NOT_VERIFIED = "notVerified", _("Identity or address could not be verified")
    DUPLICATE = "duplicate", _("Duplicate account")
    LISTED = "listed", _("On a sanctions or watch list")
    FRAUD_SUSPECTED = "fraudSuspected", _("Fraud suspected")
    FRAUD_CONFIRMED = "fraudConfirmed", _("Fraud confirmed")
    NOT_SERVED = "notServed", _("Not eligible for the service")
    PROFILE_CHANGED = "profileChanged", _("Profile changed, verification needed")
    UNUSUAL_ACTIVITY = "unusualActivity", _("Unusual conversions")
    PARTNER_REQUEST = "partnerRequest", _("Requested by the partner")
    USER_REQUEST = "userRequest", _("Requested by the user")
    CLEARED = "cleared", _("Investigated and cleared")
    NEW_INFORMATION = "newInformation", _("New information")
    REJECTED_IN_ERROR = "rejectedInError", _("Rejected in error")
    OTHER = "other", _("Other: explain in the note")

    def text(self) -> str:
        """The label in English: stored reasons do not depend on the language of the person who decided."""
        with override(None):
            return str(self.label)


# Who may read the notes of a case may read what is written beside a code, too: both may quote birth date and address.
NOTES_PERMISSION = "users.view_casenote"
# Moves that always need a note.
NOTED = frozenset({Status.REJECTED, Status.SUSPENDED, Status.CLOSED})

_CLOSING = (
    *(Reason.USER_REQUEST, Reason.PARTNER_REQUEST, Reason.DUPLICATE, Reason.FRAUD_CONFIRMED, Reason.LISTED),
    *(Reason.NOT_SERVED, Reason.OTHER),
)
# By move, the most likely first; a move that is not allowed has none.
REASONS: dict[tuple[str, str], tuple[Reason, ...]] = {
    (Status.PENDING_COMPLIANCE, Status.ACTIVE): (Reason.VERIFIED, Reason.RISK_FLAGS_EXPLAINED, Reason.OTHER),
    (Status.PENDING_COMPLIANCE, Status.REJECTED): (
        *(Reason.NOT_VERIFIED, Reason.DUPLICATE, Reason.LISTED, Reason.FRAUD_SUSPECTED, Reason.NOT_SERVED),
        Reason.OTHER,
    ),
    (Status.ACTIVE, Status.SUSPENDED): (
        *(Reason.PROFILE_CHANGED, Reason.UNUSUAL_ACTIVITY, Reason.FRAUD_SUSPECTED, Reason.LISTED),
        *(Reason.PARTNER_REQUEST, Reason.OTHER),
    ),
    (Status.ACTIVE, Status.CLOSED): _CLOSING,
    (Status.SUSPENDED, Status.ACTIVE): (Reason.CLEARED, Reason.VERIFIED, Reason.OTHER),
    (Status.SUSPENDED, Status.CLOSED): _CLOSING,
    (Status.REJECTED, Status.PENDING_COMPLIANCE): (*(Reason.NEW_INFORMATION, Reason.REJECTED_IN_ERROR, Reason.OTHER),),
}
_MOVES: dict[tuple[str, str], Any] = {
    (Status.PENDING_COMPLIANCE, Status.ACTIVE): pgettext_lazy("user", "Approved"),
    (Status.PENDING_COMPLIANCE, Status.REJECTED): pgettext_lazy("user", "Rejected"),
    (Status.ACTIVE, Status.SUSPENDED): pgettext_lazy("user", "Suspended"),
    (Status.ACTIVE, Status.CLOSED): pgettext_lazy("user", "Closed"),
    (Status.SUSPENDED, Status.ACTIVE): pgettext_lazy("user", "Reinstated"),
    (Status.SUSPENDED, Status.CLOSED): pgettext_lazy("user", "Closed"),
    (Status.REJECTED, Status.PENDING_COMPLIANCE): pgettext_lazy("user", "Reopened"),
}


def label_of(code: str) -> str:
    """The label of a stored code; the code itself where it is not in the table."""
    return str(Reason(code).label) if code in Reason else code


def move_of(decision: StatusChange) -> Any:
    """What was decided, in a word about the user."""
    return _MOVES[decision.from_status, decision.to_status]


def is_text_of(code: str, reason: str) -> bool:
    """Whether a recorded reason is the text of its code alone."""
    return code in Reason and reason == Reason(code).text()


def note_of(decision: StatusChange | Proposal) -> str:
    """What the person wrote beside the code; empty where that was nothing."""
    return "" if is_text_of(decision.reason_code, decision.reason) else decision.reason


def needs_note(to_status: str, code: str) -> bool:
    """Whether a decision needs a note beside its code; see also risk_flags.approval_needs_note."""
    return to_status in NOTED or code == Reason.OTHER


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
