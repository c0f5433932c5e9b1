from datetime import timedelta

from core import audit
from core.database import statements
from core.management.arguments import number
from core.management.base import Outcome, ServiceCommand
from core.models import AuditEntry
from events.models import WebhookEndpoint
from partners.retention import SKIP_LOCKED, purge, purge_requests

EVENTS_KEPT = timedelta(days=30)

_FEEDS = "SELECT partner_id FROM events_eventfeed WHERE purged_position < last_position ORDER BY partner_id"
# It keeps those of EVENTS_KEPT.
_PURGE_EVENTS = "SELECT purged FROM events_purge(%s, %s)"


class Command(ServiceCommand):
    help = (
        "Removes idempotency records and sandbox partners' requests after 24 hours, used signatures that no request"
        " can repeat, events and deliveries after 30 days, audit entries of what sandbox partners did by themselves"
        " after 90 days, and API keys a year after their end, in batches; safe while serving. Run it every day."
    )
    arguments = (number("--batch-size", 1, 100_000, "rows in one transaction", default=1000),)

    def perform(self, *, batch_size: int) -> Outcome:
        purged = purge_requests(batch_size=batch_size) | purge_events(batch_size=batch_size)
        # Last, so that monitoring sees a run that failed as none.
        audit.record(AuditEntry.COMMAND_RUN, object=self.name)
        text = (
            "Removed {idempotencyRecords} idempotency records, {usedSignatures} used signatures, {webhookDeliveries}"
            " webhook deliveries, {sandboxRequests} sandbox requests, {auditEntries} audit entries, {apiKeys} API keys"
            " and {events} events."
        )
        return Outcome(purged, text.format(**purged))


def purge_events(*, batch_size: int) -> dict[str, int]:
    """Remove what has expired; returns the rows by their name in `purge_expired --json`."""
    # Deliveries come before the events, of which they leave little to do.
    deliveries = purge("events_webhookdelivery", "created_at", EVENTS_KEPT, batch_size, lock=SKIP_LOCKED)
    # Removed webhooks go when their last delivery has gone.
    WebhookEndpoint.objects.filter(removed_at__isnull=False, deliveries=None).delete()
    events = 0
    for (partner_id,) in statements.fetch_all(_FEEDS, ()):
        deleted = batch_size
        while deleted == batch_size:
            (deleted,) = statements.fetch_one(_PURGE_EVENTS, (partner_id, batch_size)) or (0,)
            events += deleted
    return {"webhookDeliveries": deliveries, "events": events}
