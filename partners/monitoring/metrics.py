"""Metrics (docs/operations.md): counters of this process, and gauges of the installation, read at each scrape."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from http import HTTPMethod
from typing import Any

import psycopg
from django.conf import settings
from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector
from psycopg.errors import UndefinedTable

from core.models import AuditEntry
from core.request_context import RequestContext
from partners.models import Mode
from partners.monitoring.health import TIMEOUT_SECONDS, Probe, Session, connect, ping_redis

METHODS = frozenset(HTTPMethod)

# Beyond these, partners are counted as `other`: a series takes some 2 kB of memory.
MAX_SERIES = 20_000
NO_ROUTE = "none"

UNAUTHORIZED, TOO_MANY_REQUESTS = 401, 429

_requests = Counter(
    "psi_requests", "Requests handled, by the partner whose key they carried.", ["method", "route", "status", "partner"]
)
_seconds = Histogram(
    "psi_request_seconds",
    "From a request's arrival at a thread to its response.",
    ["method", "route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)
_unauthorized = Counter("psi_unauthorized", "Requests refused with 401, by cause.", ["cause"])
_replays = Counter("psi_idempotent_replays", "Stored responses sent for a repeated Idempotency-Key.", ["partner"])
_throttled = Counter("psi_throttled", "Requests refused with 429.", ["partner"])
undecryptable_secrets = Counter(
    "psi_undecryptable_secrets", "Requests refused with 500: no present key decrypts the secret of their API key."
)
failed_logins = Counter("psi_failed_staff_logins", "Refused sign-ins of staff, by cause.", ["cause"])
emergency_sign_ins = Counter("psi_emergency_sign_ins", "Sign-ins of emergency accounts.")

# The keys are labels: prometheus_client's own lookup costs as much as counting.
_series: dict[tuple[MetricWrapperBase, tuple[str, ...]], MetricWrapperBase] = {}


def known_method(method: str | None) -> str:
    """The method, or `other` unless it is one of HTTP's: a client may send any word."""
    return method if method in METHODS else "other"


def count_request(
    context: RequestContext, *, method: str, route: str | None, status: int, seconds: float, is_replay: bool
) -> None:
    """Count a response, unless simulated. method: from `known_method`. route: the URL pattern, if one matched."""
    if context.is_simulated:
        return
    partner, path = context.partner or "", route or NO_ROUTE
    _of(_requests, method, path, str(status), partner).inc()
    _of(_seconds, method, path).observe(seconds)
    if status == UNAUTHORIZED and context.cause:
        _of(_unauthorized, context.cause).inc()
    elif status == TOO_MANY_REQUESTS:
        _of(_throttled, partner).inc()
    elif is_replay:
        _of(_replays, partner).inc()


def _of(metric: MetricWrapperBase, *labels: str) -> Any:
    key = (metric, labels)
    series = _series.get(key)
    if series is None:
        if len(_series) >= MAX_SERIES and metric is not _seconds:
            labels = (*labels[:-1], "other")
        series = _series[key] = metric.labels(*labels)
    return series


# Gauges, read from the database and from Redis at each scrape

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


def gauges(database: Session) -> Iterator[Metric]:
    """The service's sessions, those of other machines included; ends of API keys; the last purge, if it ever ended."""
    text = "The service's sessions with the database."
    yield labelled(database, "psi_database_sessions", text, "state", _SESSIONS)
    name = "psi_api_keys_end_timestamp_seconds"
    yield labelled(database, name, "When the partner's last API key ends.", "partner", _ENDS_OF_KEYS)
    name, text = "psi_purge_ended_timestamp_seconds", "When purge_expired last ran to its end."
    for (ended,) in database.execute(_PURGED).fetchall():
        yield GaugeMetricFamily(name, text, value=ended)


class InstallationCollector(Collector):
    """Gauges from several sources, and whether the database and Redis responded in time."""

    def __init__(self, *sources: Source) -> None:
        self._sources = sources
        self._database, self._redis = Probe(self._read), Probe(ping_redis)

    def describe(self) -> list[Metric]:
        """No metrics: registering this reads nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        """The gauges, unless the database does not respond; `psi_redis_up` where REDIS_URL is set."""
        database, redis = self._database.start(), self._redis.start() if settings.REDIS_URL else None
        gauges: list[Metric] | None = None
        with suppress(TimeoutError, psycopg.Error):
            gauges = database.result(TIMEOUT_SECONDS)
        is_up = gauges is not None
        yield GaugeMetricFamily("psi_database_up", "Whether the database responded to this scrape.", value=is_up)
        yield from gauges or ()
        if redis:
            is_up = False
            with suppress(TimeoutError):
                is_up = redis.exception(TIMEOUT_SECONDS) is None
            yield GaugeMetricFamily("psi_redis_up", "Whether Redis responded to this scrape.", value=is_up)

    def _read(self) -> list[Metric]:
        found: list[Metric] = []
        with connect() as database:
            for source in self._sources:
                with suppress(UndefinedTable):  # not migrated yet
                    found += source(database)
        return found
