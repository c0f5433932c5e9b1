"""How events and the purge go: read at each scrape."""

from prometheus_client.core import GaugeMetricFamily, Metric

from partners.models import AuditEntry
from partners.monitoring.probes import Session

PURGE = "purge_expired"

_FEED_LAG = """
    SELECT extract(epoch FROM now() - created_at)::float8 FROM partners_outboxentry ORDER BY id LIMIT 1
"""
_STOPPED = """
    SELECT slug FROM partners_eventfeed JOIN partners_partner ON id = partner_id WHERE stopped_at IS NOT NULL
"""
_PURGED = f"""
    SELECT extract(epoch FROM at)::float8 FROM partners_auditentry
     WHERE object = '{PURGE}' AND action = '{AuditEntry.COMMAND_RUN}' ORDER BY at DESC, id DESC LIMIT 1
"""


def event_feed_lag(database: Session) -> float:
    """The age in seconds of the oldest event that is not in its feed; 0 if there is none."""
    (lag,) = database.execute(_FEED_LAG).fetchone() or (0.0,)
    return max(0.0, lag)


def stopped_feeds(database: Session) -> list[str]:
    """The slugs of partners whose feed a failure has stopped."""
    return [slug for (slug,) in database.execute(_STOPPED).fetchall()]


def last_purge(database: Session) -> float | None:
    """When purge_expired last ran to its end, as Unix time; None if it never did."""
    (seconds,) = database.execute(_PURGED).fetchone() or (None,)
    return seconds


def feeds_and_purge(database: Session) -> list[Metric]:
    """The lag of the feeds, those that stopped, and the last purge."""
    stopped = GaugeMetricFamily("psi_event_feed_stopped", "Feeds that a failure stopped.", labels=["partner"])
    for slug in stopped_feeds(database):
        stopped.add_metric([slug], 1)
    lag = GaugeMetricFamily(
        "psi_event_feed_lag_seconds",
        "The age of the oldest event that is not in its feed.",
        value=event_feed_lag(database),
    )
    purged = last_purge(database)
    if purged is None:
        return [stopped, lag]
    name = "psi_purge_ended_timestamp_seconds"
    return [stopped, lag, GaugeMetricFamily(name, "When purge_expired last ran to its end.", value=purged)]
