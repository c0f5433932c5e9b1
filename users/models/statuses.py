"""The statuses of a user and the allowed moves: contract, section 8."""

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
