"""The reasons that the case page offers for each move of a status, and which of them need a note.

They are the page's: the command that moves a status takes any code.
"""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from users.models import Status


@dataclass(frozen=True, slots=True)
class Reason:
    """code: kept with the decision, and counted by. label: what staff read."""

    code: str
    label: Any

    def text(self) -> str:
        """The label in the language of the source: what is kept reads the same whoever decided."""
        with override(None):
            return str(self.label)


OTHER = Reason("other", _("Another reason: say which"))
# For these a code alone would be too little for whoever asks later.
NOTED = frozenset({Status.REJECTED, Status.SUSPENDED, Status.CLOSED})

_DUPLICATE = Reason("duplicate", _("The same person has another account"))
_FRAUD = Reason("fraudSuspected", _("Fraud suspected"))
_LISTED = Reason("listed", _("On a sanctions or watch list"))
_PARTNER_ASKED = Reason("partnerRequest", _("The partner asked for it"))
_USER_ASKED = Reason("userRequest", _("The user asked for it"))
_VERIFIED = Reason("verified", _("Identity and address verified"))

_CLOSING = (_USER_ASKED, _PARTNER_ASKED, _DUPLICATE, Reason("fraudConfirmed", _("Fraud confirmed")), _LISTED, OTHER)

REASONS: dict[tuple[Status, Status], tuple[Reason, ...]] = {
    (Status.PENDING_COMPLIANCE, Status.ACTIVE): (
        _VERIFIED,
        Reason("hintsExplained", _("Verified; what looked odd has an explanation")),
        OTHER,
    ),
    (Status.PENDING_COMPLIANCE, Status.REJECTED): (
        Reason("notVerified", _("Identity or address could not be verified")),
        _DUPLICATE,
        _LISTED,
        _FRAUD,
        Reason("notServed", _("Not somebody whom we may serve")),
        OTHER,
    ),
    (Status.ACTIVE, Status.SUSPENDED): (
        Reason("profileChanged", _("The profile changed: to be verified again")),
        Reason("unusualActivity", _("Unusual conversions")),
        _FRAUD,
        _LISTED,
        _PARTNER_ASKED,
        OTHER,
    ),
    (Status.ACTIVE, Status.CLOSED): _CLOSING,
    (Status.SUSPENDED, Status.ACTIVE): (Reason("cleared", _("Looked into and found in order")), _VERIFIED, OTHER),
    (Status.SUSPENDED, Status.CLOSED): _CLOSING,
    (Status.REJECTED, Status.PENDING_COMPLIANCE): (
        Reason("newInformation", _("There is new information")),
        Reason("rejectedInError", _("Rejected in error")),
        OTHER,
    ),
}


def reasons_for(present: Status, to_status: Status) -> tuple[Reason, ...]:
    """The reasons for a move, the likeliest first; none for one that the rules do not have."""
    return REASONS.get((present, to_status), ())


def label_of(code: str) -> str:
    """A kept code as staff read it; the code itself where it is a command's own."""
    return next((str(reason.label) for reasons in REASONS.values() for reason in reasons if reason.code == code), code)


def needs_note(to_status: Status, code: str) -> bool:
    """Whether a code is too little."""
    return to_status in NOTED or code == OTHER.code
