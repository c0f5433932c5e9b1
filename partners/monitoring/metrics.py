"""What a worker counts of the requests that it answers. docs/operations.md says what each metric means.

prometheus_client keeps the values in files (partners/monitoring/multiprocess.py), so that a scrape gets the sum of
all workers, and a worker that dies takes nothing with it. Import this in what serves alone: a command that
did would start later, and count for nobody.
"""

import os

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from partners.monitoring import multiprocess
from partners.monitoring.request_context import Facts

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"})
if os.environ.get(multiprocess.VARIABLE):
    multiprocess.mark_living()

# Beyond these, partners are not told apart: the files must not fill. Each series is some 200 bytes.
MOST_SERIES = 20_000
NO_ROUTE = "none"

UNAUTHORIZED, TOO_MANY_REQUESTS = 401, 429

_requests = Counter(
    "psi_requests",
    "Requests answered, by the partner whose key they carried.",
    ["method", "route", "status", "partner"],
)
_seconds = Histogram(
    "psi_request_seconds",
    "From a request's arrival at a worker's thread to its answer.",
    ["method", "route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)
_unauthorized = Counter("psi_unauthorized", "Requests answered 401, by cause.", ["cause"])
_replays = Counter("psi_idempotent_replays", "Requests answered from memory under an Idempotency-Key.", ["partner"])
_throttled = Counter("psi_throttled", "Requests answered 429.", ["partner"])
_lost_secrets = Counter(
    "psi_lost_secrets", "Requests answered 500 because no present key decrypts the secret of their API key."
)
_statements = Counter("psi_statements", "SQL statements run for requests.")
_statement_seconds = Counter("psi_statement_seconds", "Time of SQL statements and commits for requests.")
# One for each worker that serves partners; the file of one that died is removed.
_workers = Gauge("psi_workers", "Worker processes that answer partners' requests.", multiprocess_mode="livesum")

# Looking a series up by its labels costs as much as counting it.
_series: dict[tuple[MetricWrapperBase, tuple[str, ...]], MetricWrapperBase] = {}


def mark_serving(*, for_staff: bool = False) -> None:
    """Counts this process among the workers that answer requests. for_staff: those of staff alone."""
    _workers.set(0 if for_staff else 1)
    multiprocess.mark_serving(for_staff=for_staff)


def known_method(method: str | None) -> str:
    """A request's method where it is one of HTTP's own, else `other`: a client may send any word."""
    return method if method in METHODS else "other"


def count_request(
    facts: Facts, *, method: str, route: str | None, status: int, seconds: float, is_replay: bool
) -> None:
    """Counts an answer. method: as `known_method` gives it. route: the pattern, None where there is none."""
    partner, path = facts.partner or "", route or NO_ROUTE
    _of(_requests, method, path, str(status), partner).inc()  # type: ignore[attr-defined]
    _of(_seconds, method, path).observe(seconds)  # type: ignore[attr-defined]
    if facts.statements:
        _statements.inc(facts.statements)
        _statement_seconds.inc(facts.sql_seconds)
    if status == UNAUTHORIZED and facts.cause:
        _of(_unauthorized, facts.cause).inc()  # type: ignore[attr-defined]
    elif status == TOO_MANY_REQUESTS:
        _of(_throttled, partner).inc()  # type: ignore[attr-defined]
    elif is_replay:
        _of(_replays, partner).inc()  # type: ignore[attr-defined]


def count_lost_secret() -> None:
    """Counts a request whose API key is in force, and has a secret that cannot be decrypted."""
    _lost_secrets.inc()


def _of(metric: MetricWrapperBase, *labels: str) -> MetricWrapperBase:
    key = (metric, labels)
    series = _series.get(key)
    if series is None:
        if len(_series) >= MOST_SERIES and metric is not _seconds:
            labels = (*labels[:-1], "other")
        series = _series[key] = metric.labels(*labels)
    return series
