"""Gauges of feeds and webhooks for Prometheus, and the check of the deliverer."""

import time

from django.core.checks import Error
from prometheus_client.core import GaugeMetricFamily, Metric

from events.models import RECEIVES_EVENTS
from partners.checks import Found, installation_check
from partners.monitoring.health import Session, connect
from partners.monitoring.metrics import labelled

# The sessions of deliver_events have this name.
APPLICATION_NAME = "partner-service-deliverer"
# Behind PgBouncer deliver_events has a session only while it works, which is every 0.3 s.
DELIVERER_SECONDS = 2.0
_DELIVERERS = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s"
_FEED_LAG = """
    SELECT greatest(0, extract(epoch FROM now() - created_at))::float8 FROM events_outboxentry ORDER BY id LIMIT 1
"""
# Without those whose failing entries were removed: `stopped_at` is there until the next event.
_STOPPED = """
    SELECT slug, 1 FROM events_eventfeed feed JOIN partners_partner ON id = partner_id
     WHERE stopped_at IS NOT NULL AND EXISTS (SELECT FROM events_outboxentry WHERE partner_id = feed.partner_id)
"""
# Those of active endpoints of enabled partners; of each, the index gives its first. Counting costs about a microsecond
# for each pending delivery.
MAX_COUNTED = 10_000
_DELIVERIES = f"""
    SELECT count(failing_since), coalesce(sum(pending), 0)::bigint,
           coalesce(max(extract(epoch FROM now() - due)), 0)::float8
      FROM (SELECT failing_since,
                   (SELECT count(*)
                      FROM (SELECT FROM events_webhookdelivery
                             WHERE endpoint_id = endpoint.id AND state = 'pending'
                             LIMIT {MAX_COUNTED}) AS counted) AS pending,
                   (SELECT min(next_attempt_at) FROM events_webhookdelivery
                     WHERE endpoint_id = endpoint.id AND state = 'pending' AND next_attempt_at <= now()) AS due
              FROM events_webhookendpoint endpoint
             WHERE {RECEIVES_EVENTS}) AS endpoints
"""
_DISABLED = """
    SELECT disabled_reason, count(*) FROM events_webhookendpoint
     WHERE disabled_reason <> '' AND removed_at IS NULL GROUP BY 1
"""


def feeds(database: Session) -> list[Metric]:
    """The lag of the feeds, those that stopped, and who delivers."""
    (lag,) = database.execute(_FEED_LAG).fetchone() or (0.0,)
    deliverers = database.execute(_DELIVERERS, (APPLICATION_NAME,)).rowcount
    text = "The age of the oldest event that is not in its feed."
    return [
        labelled(database, "psi_event_feed_stopped", "Feeds that a failure stopped.", "partner", _STOPPED),
        GaugeMetricFamily("psi_event_feed_lag_seconds", text, value=lag),
        GaugeMetricFamily("psi_event_deliverers", "Sessions of deliver_events.", value=deliverers),
    ]


def webhooks(database: Session) -> list[Metric]:
    """Deliveries that wait, failing and disabled endpoints."""
    failing, pending, seconds = database.execute(_DELIVERIES).fetchone() or (0, 0, 0.0)
    text = "How long the oldest delivery has been due."
    counted = f"Deliveries to active webhooks that are pending, up to {MAX_COUNTED} of each."
    return [
        labelled(database, "psi_webhooks_disabled", "Disabled webhooks.", "reason", _DISABLED),
        GaugeMetricFamily("psi_webhooks_failing", "Active webhooks whose latest attempt failed.", value=failing),
        GaugeMetricFamily("psi_webhook_deliveries_pending", counted, value=pending),
        GaugeMetricFamily("psi_webhook_oldest_due_seconds", text, value=seconds),
    ]


@installation_check
def check_deliverer() -> Found:
    """Whether deliver_events is connected to the database, from any machine."""
    until = time.monotonic() + DELIVERER_SECONDS
    with connect() as database:
        while not database.execute(_DELIVERERS, (APPLICATION_NAME,)).rowcount:
            if time.monotonic() > until:
                hint = "Start it (`systemctl start psi-deliver`), on one machine or more."
                yield Error("deliver_events is not connected to the database.", hint=hint, id="psi.E010")
                return
            time.sleep(0.1)
