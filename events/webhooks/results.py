"""Records results of attempts: a delivery ends or waits, an endpoint may be disabled (contract, section 10)."""

import random
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import structlog
from django.db import transaction
from django.db.models.functions import Now

from core.database import statements
from core.database.pipeline import Query
from core.formats import format_timestamp
from events.models import DeliveryState, DisabledReason, WebhookDelivery, WebhookEndpoint
from events.webhooks.deliveries import lock
from events.webhooks.leases import WITHOUT_FLUSH, Lease

log = structlog.get_logger("events.webhooks.results")

# They follow the end of the first attempt, of the second, and so on.
DELAYS = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=10),
)
MAX_ATTEMPTS = len(DELAYS) + 1
# The part of a delay that is random: deliveries that failed together are not repeated together.
JITTER = 0.1
MAX_RETRY_AFTER = timedelta(hours=1)
MAX_ATTEMPTS_KEPT = 20
# An endpoint is disabled whose attempts have failed for so long without a success.
MAX_FAILING = timedelta(days=5)
# Attempts must have failed on so many days (of UTC): after days without events, one failure disables no endpoint.
MIN_FAILING_DAYS = 3
# A busy endpoint's last success is not written with each.
_SUCCESS_PRECISION = timedelta(seconds=1)
_OK, _GONE = range(200, 300), 410


class AttemptResult(NamedTuple):
    """The result of an attempt: an HTTP status, or the code of an error. retry_after: of a 429 or 503."""

    at: datetime
    milliseconds: int
    status: int | None = None
    error: str = ""
    retry_after: timedelta | None = None

    @property
    def is_success(self) -> bool:
        """Whether the receiver has the event."""
        return self.status in _OK

    def as_stored(self) -> dict[str, Any]:
        """The object in `WebhookDelivery.attempts`."""
        result: dict[str, Any] = {"error": self.error} if self.status is None else {"status": self.status}
        return {"at": format_timestamp(self.at), "milliseconds": self.milliseconds, **result}


def record(lease: Lease, outcome: AttemptResult) -> bool:
    """Record the result of an attempt; return whether the lease was still held. As `record_all`."""
    return record_all([(lease, outcome)]) == 1


def record_all(results: Iterable[tuple[Lease, AttemptResult]]) -> int:
    """Record results of attempts, in one transaction; return the number of those whose lease was still held.

    Others are ignored: another process has made the attempt since, or staff ended the delivery. A delivery ends, or
    waits for its next attempt. An endpoint that responds with 410, or fails for MAX_FAILING on
    MIN_FAILING_DAYS, is disabled.
    """
    results = list(results)
    if not results:
        return 0
    with transaction.atomic():
        endpoints = lock(lease.endpoint_id for lease, _ in results)
        held = [(lease, outcome) for lease, outcome in results if _end_attempt(lease, outcome)]
        for endpoint in endpoints:
            _update_health(endpoint, [outcome for lease, outcome in held if _concerns(lease, endpoint)])
        statements.queue(Query(f"SELECT {WITHOUT_FLUSH}", ()))
    return len(held)


def _concerns(lease: Lease, endpoint: WebhookEndpoint) -> bool:
    """Whether an attempt says something of the endpoint; tests do not."""
    return lease.endpoint_id == endpoint.pk and not lease.is_test


def _end_attempt(lease: Lease, outcome: AttemptResult) -> bool:
    """Store the attempt and what follows from it, if the lease is still held. `leased_until` identifies a lease."""
    delay = None
    if not (outcome.is_success or outcome.status == _GONE or lease.is_test):
        delay = delay_after(attempt=lease.attempt_count + 1, retry_after=outcome.retry_after)
    ended_as = DeliveryState.DELIVERED if outcome.is_success else DeliveryState.FAILED
    row = WebhookDelivery.objects.filter(
        pk=lease.delivery_id, state=DeliveryState.PENDING, leased_until=lease.leased_until
    )
    changed = row.update(
        attempts=[*lease.attempts, outcome.as_stored()][-MAX_ATTEMPTS_KEPT:],
        attempt_count=lease.attempt_count + 1,
        leased_until=None,
        state=ended_as if delay is None else DeliveryState.PENDING,
        ended_at=Now() if delay is None else None,
        next_attempt_at=None if delay is None else Now() + delay,
    )
    if not changed:
        log.info("webhook lease was lost", webhook=str(lease.endpoint_id), event_id=str(lease.event_id))
    return bool(changed)


def _update_health(endpoint: WebhookEndpoint, outcomes: list[AttemptResult]) -> None:
    """Update last success and failing since, and disable the endpoint where that is due."""
    before = _health(endpoint)
    for outcome in outcomes:
        if outcome.is_success:
            endpoint.failing_since, endpoint.failing_days = None, []
            if endpoint.last_success_at is None or outcome.at - endpoint.last_success_at >= _SUCCESS_PRECISION:
                endpoint.last_success_at = outcome.at
        else:
            endpoint.failing_since = endpoint.failing_since or outcome.at
            days = {*endpoint.failing_days, outcome.at.astimezone(UTC).date()}
            endpoint.failing_days = sorted(days)[:MIN_FAILING_DAYS]
    reason = _disabling_reason(endpoint, outcomes)
    changed = _health(endpoint)
    if reason:
        changed |= {"disabled_reason": reason, "disabled_at": Now()}
        log.warning("webhook disabled", webhook=str(endpoint.pk), reason=reason)
    if reason or changed != before:
        WebhookEndpoint.objects.filter(pk=endpoint.pk).update(**changed)


def _health(endpoint: WebhookEndpoint) -> dict[str, Any]:
    names = ("failing_since", "failing_days", "last_success_at")
    return {name: getattr(endpoint, name) for name in names}


def _disabling_reason(endpoint: WebhookEndpoint, outcomes: list[AttemptResult]) -> str:
    if not outcomes or not endpoint.is_active:
        return ""
    if any(outcome.status == _GONE for outcome in outcomes):
        return DisabledReason.GONE.value
    latest = max(outcome.at for outcome in outcomes)
    is_long = endpoint.failing_since is not None and latest - endpoint.failing_since >= MAX_FAILING
    if is_long and len(endpoint.failing_days) >= MIN_FAILING_DAYS:
        return DisabledReason.FAILING.value
    return ""


def delay_after(*, attempt: int, retry_after: timedelta | None = None) -> timedelta | None:
    """Return how long to wait after an attempt, counted from 1; None after the last. retry_after: the receiver's."""
    if attempt >= MAX_ATTEMPTS:
        return None
    delay = DELAYS[attempt - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - nothing secret
    return max(delay, min(retry_after or timedelta(), MAX_RETRY_AFTER))


def parse_retry_after(value: str, *, now: datetime) -> timedelta | None:
    """Return the wait that `Retry-After` asks for (RFC 9110, section 10.2.3), at most an hour; None if unreadable."""
    value = value.strip()
    if re.fullmatch(r"[0-9]{1,4000}", value):
        return timedelta(seconds=min(int(value), int(MAX_RETRY_AFTER.total_seconds())))
    try:
        until = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return min(max(until - now, timedelta()), MAX_RETRY_AFTER)
