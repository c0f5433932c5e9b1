"""Records results of attempts: a delivery ends or waits, an endpoint may be disabled (contract, section 10)."""

import random
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import structlog
from django.db import transaction
from django.db.models.functions import Now

from core.database import statements
from core.database.pipeline import Query
from core.formats import format_timestamp
from events.models import DeliveryState, DisabledReason, WebhookDelivery, WebhookEndpoint
from events.webhooks.deliveries import WITHOUT_FLUSH, Lease, lock, renewed

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


def record(*results: tuple[Lease, AttemptResult], skip_locked: bool = False) -> list[tuple[Lease, AttemptResult]]:
    """Record results of attempts, in one transaction; return those that are left, under renewed leases.

    skip_locked: leave those of endpoints that another session has locked, and wait for none. Ignored are those whose
    lease was lost: another process has made the attempt since, or staff ended the delivery. A delivery ends, or waits
    for its next attempt. An endpoint that responds with 410, or fails for MAX_FAILING on MIN_FAILING_DAYS, is disabled.
    Tests say nothing of the endpoint.
    """
    if not results:
        return []
    with transaction.atomic():
        endpoints = lock((lease.endpoint_id for lease, _ in results), skip_locked=skip_locked)
        for endpoint in endpoints:
            held = [one for one in results if one[0].endpoint_id == endpoint.pk and _end_attempt(*one)]
            if outcomes := [outcome for lease, outcome in held if not lease.is_test]:
                _update_health(endpoint, outcomes)
        statements.queue(Query(f"SELECT {WITHOUT_FLUSH}", ()))
        done = {endpoint.pk for endpoint in endpoints}
        left = [one for one in results if one[0].endpoint_id not in done]
        return [(again, outcome) for lease, outcome in left for again in renewed(lease)]


def _end_attempt(lease: Lease, outcome: AttemptResult) -> bool:
    """Store the attempt and what follows from it, if the lease is still held. `leased_until` identifies a lease."""
    delay = None
    if not (outcome.is_success or outcome.status == _GONE or lease.is_test):
        delay = delay_after(attempt=lease.attempt_count + 1, retry_after=outcome.retry_after)
    ended_as = DeliveryState.DELIVERED if outcome.is_success else DeliveryState.FAILED
    result = {"error": outcome.error} if outcome.status is None else {"status": outcome.status}
    attempt = {"at": format_timestamp(outcome.at), "milliseconds": outcome.milliseconds, **result}
    row = WebhookDelivery.objects.filter(
        pk=lease.delivery_id, state=DeliveryState.PENDING, leased_until=lease.leased_until
    )
    changed = row.update(
        attempts=[*lease.attempts, attempt][-MAX_ATTEMPTS_KEPT:],
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
    changed = ["failing_since", "failing_days", "last_success_at"]
    for outcome in outcomes:
        if outcome.is_success:
            endpoint.failing_since, endpoint.failing_days, endpoint.last_success_at = None, [], outcome.at
        else:
            endpoint.failing_since = endpoint.failing_since or outcome.at
            days = {*endpoint.failing_days, outcome.at.astimezone(UTC).date()}
            endpoint.failing_days = sorted(days)[:MIN_FAILING_DAYS]
    is_gone = any(outcome.status == _GONE for outcome in outcomes)
    since, latest = endpoint.failing_since, max(outcome.at for outcome in outcomes)
    is_long = since is not None and latest - since >= MAX_FAILING and len(endpoint.failing_days) >= MIN_FAILING_DAYS
    if endpoint.is_active and (is_gone or is_long):
        endpoint.disabled_reason = (DisabledReason.GONE if is_gone else DisabledReason.FAILING).value
        endpoint.disabled_at = Now()
        changed += ["disabled_reason", "disabled_at"]
        log.warning("webhook disabled", webhook=str(endpoint.pk), reason=endpoint.disabled_reason)
    endpoint.save(update_fields=changed)


def delay_after(*, attempt: int, retry_after: timedelta | None = None) -> timedelta | None:
    """Return how long to wait after an attempt, counted from 1; None after the last. retry_after: the receiver's."""
    if attempt >= MAX_ATTEMPTS:
        return None
    delay = DELAYS[attempt - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - nothing secret
    return max(delay, min(retry_after or timedelta(), MAX_RETRY_AFTER))


def parse_retry_after(value: str, *, now: datetime) -> timedelta | None:
    """Return the wait that `Retry-After` asks for (RFC 9110, section 10.2.3), at most an hour; None if unreadable."""
    if re.fullmatch(r"[0-9]{1,4000}", value):
        return timedelta(seconds=min(int(value), int(MAX_RETRY_AFTER.total_seconds())))
    try:
        until = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return min(max(until.replace(tzinfo=until.tzinfo or UTC) - now, timedelta()), MAX_RETRY_AFTER)
