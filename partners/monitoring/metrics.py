"""Metrics of the requests that this process handles; docs/operations.md has their meaning."""

from http import HTTPMethod
from typing import Any

from prometheus_client import Counter, Histogram
from prometheus_client.metrics import MetricWrapperBase

from core.request_context import RequestContext

METHODS = frozenset(HTTPMethod)

# Beyond these, partners are counted as `other`: a series takes some 2 kB of memory.
MAX_SERIES = 20_000
NO_ROUTE = "none"

UNAUTHORIZED, TOO_MANY_REQUESTS = 401, 429

_requests = Counter(
    "psi_requests",
    "Requests handled, by the partner whose key they carried.",
    ["method", "route", "status", "partner"],
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
_undecryptable_secrets = Counter(
    "psi_undecryptable_secrets",
    "Requests refused with 500: no present key decrypts the secret of their API key.",
)
_failed_logins = Counter("psi_failed_staff_logins", "Refused sign-ins of staff, by cause.", ["cause"])
_emergency_sign_ins = Counter("psi_emergency_sign_ins", "Sign-ins of emergency accounts.")

# The keys are labels: prometheus_client's own lookup costs as much as counting.
_series: dict[tuple[MetricWrapperBase, tuple[str, ...]], MetricWrapperBase] = {}


def known_method(method: str | None) -> str:
    """The method, or `other` unless it is one of HTTP's: a client may send any word."""
    return method if method in METHODS else "other"


def count_request(
    context: RequestContext, *, method: str, route: str | None, status: int, seconds: float, is_replay: bool
) -> None:
    """Count a response, if its failure is not simulated.

    method: from `known_method`. route: the URL pattern, if one matched.
    """
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


def count_undecryptable_secret() -> None:
    """Count a request whose API key is in force, but whose secret cannot be decrypted."""
    _undecryptable_secrets.inc()


def count_failed_login(cause: str) -> None:
    """Count a refused sign-in of staff. cause: as in its log line."""
    _failed_logins.labels(cause).inc()


def count_emergency_sign_in() -> None:
    """Count a sign-in of an emergency account (`create_staff --emergency`)."""
    _emergency_sign_ins.inc()


def _of(metric: MetricWrapperBase, *labels: str) -> Any:
    key = (metric, labels)
    series = _series.get(key)
    if series is None:
        if len(_series) >= MAX_SERIES and metric is not _seconds:
            labels = (*labels[:-1], "other")
        series = _series[key] = metric.labels(*labels)
    return series
