"""Removes events and deliveries that have served their time (contract, section 10)."""

from datetime import timedelta

from core.database import statements
from events.models import WebhookEndpoint
from partners.retention import SKIP_LOCKED, purge

EVENTS_KEPT = timedelta(days=30)

_FEEDS = "SELECT partner_id FROM events_eventfeed WHERE purged_position < last_position ORDER BY partner_id"
# It keeps those of EVENTS_KEPT (events/sql/events_purge.sql).
_PURGE_EVENTS = "SELECT purged FROM events_purge(%s, %s)"


def purge_events(*, batch_size: int) -> dict[str, int]:
    """Remove what has expired; returns the rows by their name in `purge_expired --json`.

    Removed webhooks go when their last delivery has gone.
    """
    # Deliveries come before the events, of which they leave little to do.
    deliveries = purge("events_webhookdelivery", "created_at", EVENTS_KEPT, batch_size, lock=SKIP_LOCKED)
    WebhookEndpoint.objects.filter(removed_at__isnull=False, deliveries=None).delete()
    partners = [partner_id for (partner_id,) in statements.fetch_all(_FEEDS, ())]
    events = sum(_purge_feed(partner_id, batch_size) for partner_id in partners)
    return {"webhookDeliveries": deliveries, "events": events}


def _purge_feed(partner_id: int, batch_size: int) -> int:
    total: int = 0
    while True:
        (deleted,) = statements.fetch_one(_PURGE_EVENTS, (partner_id, batch_size)) or (0,)
        total += deleted
        if deleted < batch_size:
            return total
