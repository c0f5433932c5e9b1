"""The status of a user and the moves between them: contract, section 8."""

from django.db import models


class Status(models.TextChoices):
    """Where a user stands with compliance. The values are those on the wire."""

    PENDING_COMPLIANCE = "pendingCompliance", "Pending compliance"
    ACTIVE = "active", "Active"
    REJECTED = "rejected", "Rejected"
    SUSPENDED = "suspended", "Suspended"
    CLOSED = "closed", "Closed"


# From a status to those it may move to. The database's trigger is made from it too: a change needs a migration.
TRANSITIONS: dict[Status, tuple[Status, ...]] = {
    Status.PENDING_COMPLIANCE: (Status.ACTIVE, Status.REJECTED),
    Status.ACTIVE: (Status.SUSPENDED, Status.CLOSED),
    Status.SUSPENDED: (Status.ACTIVE, Status.CLOSED),
    Status.REJECTED: (Status.PENDING_COMPLIANCE,),
    Status.CLOSED: (),
}
