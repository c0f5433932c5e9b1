"""The statuses of a user, the allowed moves, and what a partner may be told of them: contract, sections 8 and 13.

A reason is made of the decision's code when it is read. A code that tells of a suspicion has that of innocent ones
(Proceeds of Crime (Money Laundering) and Terrorist Financing Act, section 8). The trigger of events is made from it.
"""

from collections.abc import Mapping

from django.db import models
from django.utils.translation import gettext_lazy as _


class Status(models.TextChoices):
    """The status of a user. The values are those of the API."""

    PENDING_COMPLIANCE = "pendingCompliance", _("Pending compliance")
    ACTIVE = "active", _("Active")
    REJECTED = "rejected", _("Rejected")
    SUSPENDED = "suspended", _("Suspended")
    CLOSED = "closed", _("Closed")


# Nothing is asked of a user in these, and the clock of the retention runs (docs/operations.md, "Records").
ENDED_STATUSES = (Status.REJECTED, Status.CLOSED)

# The allowed moves, by present status. A trigger is made from it too: a change needs a migration.
TRANSITIONS: dict[Status, tuple[Status, ...]] = {
    Status.PENDING_COMPLIANCE: (Status.ACTIVE, Status.REJECTED),
    Status.ACTIVE: (Status.SUSPENDED, Status.CLOSED),
    Status.SUSPENDED: (Status.ACTIVE, Status.CLOSED),
    Status.REJECTED: (Status.PENDING_COMPLIANCE,),
    Status.CLOSED: (),
}


class StatusReason(models.TextChoices):
    """What a partner reads; the labels are for people."""

    VERIFIED = "verified", _("Verified")
    INFORMATION_MISSING = "informationMissing", _("Information is missing")
    NOT_VERIFIED = "notVerified", _("Could not be verified")
    DUPLICATE = "duplicate", _("Duplicate account")
    NOT_SERVED = "notServed", _("Not eligible for the service")
    PARTNER_REQUEST = "partnerRequest", _("Requested by the partner")
    USER_REQUEST = "userRequest", _("Requested by the user")
    UNDER_REVIEW = "underReview", _("Under review")


# The code of a move without a row of its own, and of one without a code.
_ANY = "other"

# The keys are the status that a decision led to, and its code. A user begins as pendingCompliance without a decision.
STATUS_REASONS: Mapping[Status, Mapping[str, StatusReason]] = {
    Status.ACTIVE: {_ANY: StatusReason.VERIFIED},
    Status.REJECTED: {
        "notVerified": StatusReason.NOT_VERIFIED,
        "duplicate": StatusReason.DUPLICATE,
        "notServed": StatusReason.NOT_SERVED,
        "listed": StatusReason.NOT_SERVED,
        "fraudSuspected": StatusReason.NOT_SERVED,
        _ANY: StatusReason.NOT_SERVED,
    },
    Status.SUSPENDED: {
        "profileChanged": StatusReason.INFORMATION_MISSING,
        "partnerRequest": StatusReason.PARTNER_REQUEST,
        "unusualActivity": StatusReason.UNDER_REVIEW,
        "fraudSuspected": StatusReason.UNDER_REVIEW,
        "listed": StatusReason.UNDER_REVIEW,
        _ANY: StatusReason.UNDER_REVIEW,
    },
    Status.CLOSED: {
        "userRequest": StatusReason.USER_REQUEST,
        "partnerRequest": StatusReason.PARTNER_REQUEST,
        "duplicate": StatusReason.DUPLICATE,
        "notServed": StatusReason.NOT_SERVED,
        "fraudConfirmed": StatusReason.NOT_SERVED,
        "listed": StatusReason.NOT_SERVED,
        _ANY: StatusReason.NOT_SERVED,
    },
    Status.PENDING_COMPLIANCE: {},
}


def status_reason(status: str, reason_code: str) -> str | None:
    """The reason that the partner reads. reason_code: of the decision that led to the status; empty without one."""
    reasons = STATUS_REASONS[Status(status)]
    found = reasons.get(reason_code) or reasons.get(_ANY)
    return found.value if found else None


def status_reason_sql(status: str, reason_code: str) -> str:
    """SQL of the same. Arguments: SQL of both values."""
    cases = " ".join(
        f"WHEN '{one.value}' THEN CASE {reason_code} "
        + " ".join(f"WHEN '{code}' THEN '{reason.value}'" for code, reason in reasons.items())
        + f" ELSE '{reasons[_ANY].value}' END"
        for one, reasons in STATUS_REASONS.items()
        if reasons
    )
    return f"CASE {status} {cases} END"
