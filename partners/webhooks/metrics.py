"""Webhooks for metrics: read at each scrape, whichever machine sends them."""

from prometheus_client.core import GaugeMetricFamily, Metric

from partners.models import RECEIVES_EVENTS
from partners.monitoring.probes import Session

# Those of active endpoints of enabled partners; of each, the index gives its first.
_DELIVERIES = f"""
    SELECT coalesce(sum(pending), 0)::bigint, coalesce(max(extract(epoch FROM now() - due)), 0)::float8,
           count(failing_since)
      FROM (SELECT failing_since,
                   (SELECT count(*) FROM partners_webhookdelivery
                     WHERE endpoint_id = endpoint.id AND state = 'pending') AS pending,
                   (SELECT min(next_attempt_at) FROM partners_webhookdelivery
                     WHERE endpoint_id = endpoint.id AND state = 'pending' AND next_attempt_at <= now()) AS due
              FROM partners_webhookendpoint endpoint
             WHERE {RECEIVES_EVENTS}) AS endpoints
"""
_DISABLED = """
    SELECT disabled_reason, count(*) FROM partners_webhookendpoint
     WHERE disabled_reason <> '' AND removed_at IS NULL GROUP BY 1
"""


def webhooks(database: Session) -> list[Metric]:
    """Deliveries that wait, failing and disabled endpoints."""
    disabled = GaugeMetricFamily("psi_webhooks_disabled", "Disabled webhooks.", labels=["reason"])
    for reason, count in database.execute(_DISABLED).fetchall():
        disabled.add_metric([reason], count)
    pending, due_seconds, failing = database.execute(_DELIVERIES).fetchone() or (0, 0.0, 0)
    return [
        disabled,
        GaugeMetricFamily("psi_webhooks_failing", "Active webhooks whose latest attempt failed.", value=failing),
        GaugeMetricFamily("psi_webhook_deliveries_pending", "Deliveries to active webhooks.", value=pending),
        GaugeMetricFamily(
            "psi_webhook_oldest_due_seconds", "How long the oldest delivery has been due.", value=due_seconds
        ),
    ]
