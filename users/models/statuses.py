"""The status of a user and the moves between them: contract, section 8."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Status(models.TextChoices):
    """Where a user stands with compliance. The values are those on the wire."""

    PENDING_COMPLIANCE = "pendingCompliance", _("Pending compliance")
    ACTIVE = "active", _("Active")
    REJECTED = "rejected", _("Rejected")
    SUSPENDED = "suspended", _("Suspended")
    CLOSED = "closed", _("Closed")


# From a status to those it may move to. The database's trigger is made from it too: a change needs a migration.
TRANSITIONS: dict[Status, tuple[Status, ...]] = {
    Status.PENDING_COMPLIANCE: (Status.ACTIVE, Status.REJECTED),
    Status.ACTIVE: (Status.SUSPENDED, Status.CLOSED),
    Status.SUSPENDED: (Status.ACTIVE, Status.CLOSED),
    Status.REJECTED: (Status.PENDING_COMPLIANCE,),
    Status.CLOSED: (),
}
