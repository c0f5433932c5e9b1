"""Why the demo's staff decided as they did: codes that the case page offers, each with a sentence."""

from collections.abc import Mapping, Sequence

from users.models import Status

PENDING, ACTIVE, REJECTED = Status.PENDING_COMPLIANCE, Status.ACTIVE, Status.REJECTED
SUSPENDED, CLOSED = Status.SUSPENDED, Status.CLOSED

# For each move of a status: reason codes (users/services/reasons.py) with their sentences.
REASONS: Mapping[tuple[Status, Status], Sequence[tuple[str, str]]] = {
    (PENDING, ACTIVE): (
        ("verified", "Identity and address verified."),
        ("verified", "Driving licence and a utility bill agree with the profile."),
        ("verified", "Passport checked; the address is that of the credit file."),
        ("riskFlagsExplained", "The user moved last month, which explains the postal code."),
    ),
    (PENDING, REJECTED): (
        ("notVerified", "The address could not be verified."),
        ("notVerified", "The identity document has expired, and no other was sent."),
        ("notVerified", "Name and date of birth do not match the identity document."),
    ),
    (REJECTED, PENDING): (
        ("newInformation", "The user sent a new proof of address."),
        ("newInformation", "The partner corrected the address."),
    ),
    (ACTIVE, SUSPENDED): (
        ("unusualActivity", "Unusual conversions are under review."),
        ("unusualActivity", "Several large conversions in one day; the user was asked about the source of funds."),
        ("partnerRequest", "The partner reported a lost phone."),
    ),
    (SUSPENDED, ACTIVE): (
        ("cleared", "The source of funds is documented."),
        ("verified", "The user was identified again by telephone."),
    ),
    (ACTIVE, CLOSED): (
        ("userRequest", "The user asked for it."),
        ("partnerRequest", "The user's contract with the partner has ended."),
    ),
}
