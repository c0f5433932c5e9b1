"""Gauges that are read from the database and from Redis at each scrape, whichever machine serves or sends."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import psycopg
from django.conf import settings
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from psycopg.errors import UndefinedTable

from core.models import AuditEntry
from partners.models import Mode
from partners.monitoring.probes import TIMEOUT_SECONDS, Probe, Session, connect, ping_redis

Source = Callable[[Session], Iterable[Metric]]

_SESSIONS = """
    SELECT coalesce(state, 'unknown'), count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name ~ '^partner-service(-deliverer)?$' GROUP BY 1
"""
# Of each enabled live partner whose keys all end. One that has ended counts too: the partner has none then.
_ENDS_OF_KEYS = f"""
    SELECT slug, extract(epoch FROM max(expires_at))::float8
      FROM partners_apikey key JOIN partners_partner partner ON partner.id = partner_id
     WHERE enabled AND mode = '{Mode.LIVE}' AND revoked_at IS NULL
     GROUP BY slug HAVING bool_and(expires_at IS NOT NULL)
"""
_PURGED = f"""
    SELECT extract(epoch FROM at)::float8 FROM core_auditentry
     WHERE object = 'purge_expired' AND action = '{AuditEntry.COMMAND_RUN}' ORDER BY at DESC, id DESC LIMIT 1
"""


def labelled(database: Session, name: str, text: str, label: str, statement: str) -> Metric:
    """A gauge of a statement's rows: the value of the label, and the number."""
    gauge = GaugeMetricFamily(name, text, labels=[label])
    for value, number in database.execute(statement).fetchall():
        gauge.add_metric([value], number)
    return gauge


def sessions(database: Session) -> list[Metric]:
    """The service's sessions with this database, those of other machines included."""
    text = "The service's sessions with the database."
    return [labelled(database, "psi_database_sessions", text, "state", _SESSIONS)]


def keys(database: Session) -> list[Metric]:
    """When the last API key of each enabled live partner ends, if it does."""
    name = "psi_api_keys_end_timestamp_seconds"
    return [labelled(database, name, "When the partner's last API key ends.", "partner", _ENDS_OF_KEYS)]


def purge(database: Session) -> list[Metric]:
    """The last purge, if it ever ran to its end."""
    name, text = "psi_purge_ended_timestamp_seconds", "When purge_expired last ran to its end."
    return [GaugeMetricFamily(name, text, value=ended) for (ended,) in database.execute(_PURGED).fetchall()]


class DatabaseCollector(Collector):
    """Gauges from several sources, and whether the database responded in time."""

    def __init__(self, *sources: Source) -> None:
        self._sources = sources
        self._probe = Probe(self._read)

    def describe(self) -> list[Metric]:
        """No metrics: registering this reads nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        """The gauges; only `psi_database_up` (0) if the database does not respond."""
        gauges: list[Metric] | None = None
        with suppress(TimeoutError, psycopg.Error):
            gauges = self._probe.start().result(TIMEOUT_SECONDS)
        is_up = gauges is not None
        yield GaugeMetricFamily("psi_database_up", "Whether the database responded to this scrape.", value=is_up)
        yield from gauges or ()

    def _read(self) -> list[Metric]:
        gauges: list[Metric] = []
        with connect() as database:
            for source in self._sources:
                with suppress(UndefinedTable):  # not migrated yet
                    gauges += source(database)
        return gauges


class RedisCollector(Collector):
    """`psi_redis_up`; nothing where REDIS_URL is empty."""

    def __init__(self) -> None:
        self._probe = Probe(ping_redis)

    def describe(self) -> list[Metric]:
        """No metrics: registering this asks nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        """1 if Redis answered within TIMEOUT_SECONDS, else 0."""
        if not settings.REDIS_URL:
            return
        try:
            self._probe.start().result(TIMEOUT_SECONDS)
            is_up = True
        except Exception:  # noqa: BLE001 - whatever it is, Redis did not answer
            is_up = False
        yield GaugeMetricFamily("psi_redis_up", "Whether Redis responded to this scrape.", value=is_up)
