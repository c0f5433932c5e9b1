"""When a delivery is attempted again, and what its results change: contract, section 10."""

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.utils import timezone

from core.models import AuditEntry
from events.models import DisabledReason, Event, WebhookDelivery, WebhookEndpoint
from events.webhooks import deliveries, endpoints
from events.webhooks.results import delay_after, parse_retry_after, record
from partners.models import Partner
from tests.conftest import database_url
from tests.factories import WebhookDeliveryFactory, WebhookEndpointFactory
from tests.slow.test_webhook_queue import expire, lease_one, make, outcome
from tests.support.database import undone

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 36_000]


@pytest.mark.parametrize(("attempt", "seconds"), [*enumerate(SECONDS, start=1)])
def test_delays_grow_and_vary_by_a_tenth(attempt: int, seconds: int) -> None:
    delays = [delay.total_seconds() for _ in range(200) if (delay := delay_after(attempt=attempt))]
    assert len(set(delays)) > 100
    assert 0.9 * seconds <= min(delays) < seconds < max(delays) <= 1.1 * seconds


@pytest.mark.parametrize("attempt", [8, 9, 20])
def test_there_is_none_after_the_last(attempt: int) -> None:
    assert delay_after(attempt=attempt, retry_after=timedelta(seconds=5)) is None


def test_a_later_retry_after_is_obeyed_up_to_an_hour() -> None:
    assert delay_after(attempt=1, retry_after=timedelta(minutes=7)) == timedelta(minutes=7)
    assert delay_after(attempt=1, retry_after=timedelta(days=7)) == timedelta(hours=1)
    earlier = delay_after(attempt=3, retry_after=timedelta(seconds=1))
    assert earlier
    assert earlier > timedelta(minutes=20)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        ("0", 0),
        ("99999999", 3600),
        ("Thu, 15 Jan 2026 12:10:00 GMT", 600),
        ("Thu, 15 Jan 2026 12:10:00 -0000", 600),
        ("Thu, 15 Jan 2026 11:00:00 GMT", 0),
        ("Thu, 15 Jan 2099 11:00:00 GMT", 3600),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        ("9" * 400, 3600),
        ("9" * 5000, None),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2026 00:00:00 +99999999999999999999", None),
        ("Thu, 99 Jan 2026 12:10:00 GMT", None),
    ],
)
def test_retry_after_in_both_forms(value: str, seconds: int | None) -> None:
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert parse_retry_after(value, now=NOW) == expected


# Recording


def test_a_success_ends_the_delivery(partner: Partner, endpoint: WebhookEndpoint) -> None:
    make(partner)
    at = timezone.now()
    record((lease_one(), outcome(200, at=at)))
    delivery = endpoint.deliveries.get()
    assert (delivery.state, delivery.attempt_count, delivery.next_attempt_at) == ("delivered", 1, None)
    assert delivery.ended_at is not None
    assert [(one["status"], one["milliseconds"]) for one in delivery.attempts] == [(200, 12)]
    endpoint.refresh_from_db()
    assert (endpoint.last_success_at, endpoint.failing_since) == (at, None)


def test_a_failure_is_attempted_again(partner: Partner, endpoint: WebhookEndpoint, late_retries: None) -> None:
    make(partner)
    failures: list[dict[str, Any]] = [
        *({"status": status} for status in (500, 301, 404)),
        {"status": None, "error": "timeout"},
    ]
    for failure in failures:
        with undone():
            record((lease_one(), outcome(**failure)))
            delivery = endpoint.deliveries.get()
            assert (delivery.state, delivery.attempt_count, delivery.leased_until) == ("pending", 1, None), failure
            assert delivery.next_attempt_at is not None
            assert timedelta(minutes=50) < delivery.next_attempt_at - timezone.now() < timedelta(minutes=70), failure
            assert deliveries.lease(limit=10) == [], failure


def test_retry_after_puts_the_next_attempt_off(partner: Partner, endpoint: WebhookEndpoint) -> None:
    make(partner)
    record((lease_one(), outcome(503, retry_after=timedelta(minutes=10))))
    delivery = endpoint.deliveries.get()
    assert delivery.next_attempt_at is not None
    assert timedelta(minutes=9) < delivery.next_attempt_at - timezone.now() < timedelta(minutes=11)


def test_after_eight_attempts_a_delivery_has_failed(partner: Partner, endpoint: WebhookEndpoint) -> None:
    make(partner)
    for _ in range(8):
        WebhookDelivery.objects.update(next_attempt_at=timezone.now() - timedelta(seconds=1))
        rewind()
        record((lease_one(), outcome(None, error="connect")))
    delivery = endpoint.deliveries.get()
    assert (delivery.state, delivery.attempt_count) == ("failed", 8)
    assert [one["error"] for one in delivery.attempts] == ["connect"] * 8

    assert deliveries.retry(endpoint=endpoint) == 1
    rewind()
    record((lease_one(), outcome()))
    assert endpoint.deliveries.get().state == "delivered"


def rewind() -> None:
    """Have pending deliveries fall due before this transaction, whose time does not pass."""
    WebhookDelivery.objects.filter(state="pending").update(next_attempt_at=timezone.now() - timedelta(days=1))


def test_a_gone_endpoint_is_disabled_at_once(partner: Partner, endpoint: WebhookEndpoint) -> None:
    make(partner, users=3)
    record((deliveries.lease(limit=10)[0], outcome(410)))
    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.disabled_reason) == ("disabled", DisabledReason.GONE)
    assert endpoint.deliveries.filter(state="failed").count() == 1
    assert deliveries.lease(limit=10) == []


# The status of each, and the days since then: five without a success, on three of them at least.
DISABLED: list[list[tuple[int, float]]] = [[(500, 5), (500, 2), (500, 0)]]
STILL_ACTIVE: list[list[tuple[int, float]]] = [
    [(500, 5), (500, 2), (500, 0.00001)],
    # Failures on two days: an endpoint that had no events for days.
    [(500, 10), (500, 10), (500, 10), (500, 0)],
    [(500, 5), (500, 0), (500, 0), (500, 0)],
    # A success forgets those before it.
    [(500, 9), (500, 8), (200, 7), (500, 6), (500, 0)],
    [(500, 6), (200, 2), (500, 0)],
]


def test_five_days_without_a_success_disable(
    partner: Partner, endpoint: WebhookEndpoint, subtests: pytest.Subtests
) -> None:
    make(partner, users=max(len(results) for results in STILL_ACTIVE))
    for results in (*DISABLED, *STILL_ACTIVE):
        with subtests.test(str(results)), undone():
            now = timezone.now()
            for status, ago in results:
                record((deliveries.lease(limit=10)[0], outcome(status, at=now - timedelta(days=ago))))
                expire()
            endpoint.refresh_from_db()
            successes = [number for number, (status, _) in enumerate(results) if status == 200]
            failures = [now - timedelta(days=ago) for _, ago in results[max(successes, default=-1) + 1 :]]
            is_active = results in STILL_ACTIVE
            assert endpoint.failing_since == failures[0]
            assert endpoint.failing_days == sorted({one.date() for one in failures})
            assert endpoint.is_active == is_active
            assert endpoint.disabled_reason == ("" if is_active else DisabledReason.FAILING)
            assert (endpoint.disabled_at is None) == is_active


def test_a_late_result_does_not_touch_another_s_lease(partner: Partner, endpoint: WebhookEndpoint) -> None:
    make(partner)
    late = lease_one()
    expire()
    present = lease_one()

    record((late, outcome(410)))
    delivery = endpoint.deliveries.get()
    assert (delivery.state, delivery.attempts, delivery.leased_until) == ("pending", [], present.leased_until)
    endpoint.refresh_from_db()
    assert endpoint.is_active
    record((present, outcome()))
    record((present, outcome(500)))
    assert endpoint.deliveries.get().state == "delivered"


def test_the_result_of_a_locked_endpoint_waits_under_a_renewed_lease(
    committed_partner: Partner, no_other_endpoint: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked, other = WebhookEndpointFactory.create_batch(2, partner=committed_partner)
    make(committed_partner)
    with monkeypatch.context() as patched:
        patched.setattr(deliveries, "LEASE", timedelta())
        leases = deliveries.lease(limit=10)
    with psycopg.connect(database_url("default")) as session:
        session.execute("SELECT FROM events_webhookendpoint WHERE id = %s FOR NO KEY UPDATE", [locked.pk])
        left = record(*((one, outcome()) for one in leases), skip_locked=True)
        assert other.deliveries.get().state == "delivered"
        assert deliveries.lease(limit=10) == []
    assert record(*left, skip_locked=True) == []
    delivery = locked.deliveries.get()
    assert (delivery.state, delivery.attempt_count) == ("delivered", 1)


def test_a_test_is_sent_once_and_says_nothing_of_the_endpoint(endpoint: WebhookEndpoint) -> None:
    for status, state in ((500, "failed"), (410, "failed"), (204, "delivered")):
        test = deliveries.create_test(endpoint=endpoint)
        record((lease_one(), outcome(status)))
        test.refresh_from_db()
        assert (test.state, test.attempt_count) == (state, 1)
    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.failing_since, endpoint.last_success_at) == ("active", None, None)
    assert deliveries.retry(endpoint=endpoint) == 0


# What staff ask for

ATTEMPT = {"at": "2026-01-15T10:30:00.000000Z", "milliseconds": 5, "status": 500}


def test_many_are_retried_in_batches_that_others_wait_for(
    endpoint: WebhookEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    WebhookDeliveryFactory.create_batch(5, endpoint=endpoint, state="failed")
    monkeypatch.setattr(deliveries, "RETRIED_AT_ONCE", 2)
    assert deliveries.retry(endpoint=endpoint) == 5
    assert not endpoint.deliveries.filter(state="failed").exists()
    entries = AuditEntry.objects.filter(action="webhook.retried", object=str(endpoint.pk)).order_by("id")
    assert [one.detail["deliveries"] for one in entries] == [2, 2, 1]


def test_retried_are_those_that_failed_or_wait(endpoint: WebhookEndpoint) -> None:
    later = timezone.now() + timedelta(hours=1)
    failed = WebhookDeliveryFactory.create(endpoint=endpoint, state="failed", attempts=[ATTEMPT] * 8)
    waiting = WebhookDeliveryFactory.create(endpoint=endpoint, attempts=[ATTEMPT], next_attempt_at=later)
    for state in ("delivered", "skipped"):
        WebhookDeliveryFactory.create(endpoint=endpoint, state=state)
    WebhookDeliveryFactory.create(state="failed")
    leased = WebhookDeliveryFactory.create(
        endpoint=endpoint, attempts=[ATTEMPT], next_attempt_at=later, leased_until=later
    )

    assert deliveries.retry(endpoint=endpoint, since=timezone.now() + timedelta(minutes=1)) == 0
    assert deliveries.retry(endpoint=endpoint, delivery=leased) == 0
    assert deliveries.retry(endpoint=endpoint, delivery=waiting) == 1
    assert deliveries.retry(endpoint=endpoint) == 1
    for one in (failed, waiting):
        one.refresh_from_db()
        assert (one.state, one.ended_at) == ("pending", None)
        assert one.next_attempt_at
        assert one.next_attempt_at <= timezone.now()


def test_what_fell_due_while_disabled_is_skipped(partner: Partner, endpoint: WebhookEndpoint) -> None:
    make(partner, users=2)
    later = WebhookDeliveryFactory.create(endpoint=endpoint, next_attempt_at=timezone.now() + timedelta(hours=1))
    endpoints.change_endpoint(endpoint, enabled=False)
    make(partner)
    endpoints.change_endpoint(endpoint, enabled=True)

    assert endpoint.deliveries.filter(state="skipped").count() == 2
    later.refresh_from_db()
    assert later.state == "pending"
    make(partner)
    assert lease_one().event_id == Event.objects.latest("position").event_id
