"""`deliver_events` delivers, ends in order, and may be killed."""

import signal
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db.models.functions import Now
from django.utils import timezone
from standardwebhooks.webhooks import Webhook

from config.embedded.server import SUPERUSER
from events.feed.relay import Relay
from events.models import DeliveryState, WebhookDelivery, WebhookEndpoint, WebhookSecret
from events.monitoring import check_deliverer
from events.webhooks import delivering as delivering_module
from events.webhooks import endpoints
from events.webhooks.delivering import Deliverer
from partners.models import Partner
from tests.conftest import database_url
from tests.factories import PartnerFactory, StatusChangeFactory, UserFactory
from tests.support.receiver import Authority, Receiver, Reply
from tests.support.timeouts import WAIT_SECONDS
from tests.support.watched import wait_until
from users.models import Status

AddEndpoint = Callable[..., tuple[WebhookEndpoint, str]]


pytestmark = pytest.mark.usefixtures("no_other_endpoint")


def delivered(partner: Partner, count: int) -> Callable[[], bool]:
    found = WebhookDelivery.objects.filter(endpoint__partner=partner, state=DeliveryState.DELIVERED)
    return lambda: found.count() == count


def test_an_event_is_delivered_under_the_secrets_in_force(
    committed_partner: Partner, receiver: Receiver, add_endpoint: AddEndpoint, delivering: Any
) -> None:
    endpoint, old = add_endpoint(committed_partner, receiver)
    new = endpoints.rotate_secret(endpoint)
    user = UserFactory.create(partner=committed_partner, status=Status.ACTIVE)
    with delivering():
        wait_until(delivered(committed_partner, 1))

    (request,) = receiver.requests
    event, again = (Webhook(secret).verify(request.body, request.headers) for secret in (old, new))
    assert event == again
    assert (event["type"], event["data"]["userId"]) == ("user.statusChanged", str(user.pk))
    assert request.headers["webhook-id"] == event["eventId"]
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"] == "partner-service-webhooks/1"


def test_an_event_is_delivered_again_until_it_is_accepted(
    committed_partner: Partner, receiver: Receiver, add_endpoint: AddEndpoint, delivering: Any, late_retries: None
) -> None:
    add_endpoint(committed_partner, receiver)
    receiver.reply = lambda _: Reply(500 if len(receiver.requests) == 1 else 204)
    begun = timezone.now()
    UserFactory.create(partner=committed_partner, status=Status.ACTIVE)
    failed = WebhookDelivery.objects.filter(endpoint__partner=committed_partner, attempt_count=1)
    with delivering():
        wait_until(failed.exists)
        assert failed.filter(next_attempt_at__gte=begun + timedelta(minutes=50)).exists()
        assert len(receiver.requests) == 1
        # As if that time had come.
        failed.update(next_attempt_at=Now())
        wait_until(delivered(committed_partner, 1))
    first, second = receiver.requests
    assert first.event_id == second.event_id
    assert first.body == second.body
    attempts = WebhookDelivery.objects.get(endpoint__partner=committed_partner).attempts
    assert [one["status"] for one in attempts] == [500, 204]


def test_dead_and_broken_endpoints_delay_no_other(
    committed_partner: Partner,
    authority: Authority,
    receiver: Receiver,
    add_endpoint: AddEndpoint,
    delivering: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    end = threading.Event()
    add_endpoint(committed_partner, receiver)
    with authority.receiver() as dead:
        dead.reply = lambda _: Reply(wait=lambda: end.wait(WAIT_SECONDS))
        add_endpoint(committed_partner, dead)
        broken, _ = add_endpoint(committed_partner, dead)
        WebhookSecret.objects.filter(endpoint=broken).update(encrypted_secret="not a token")
        UserFactory.create_batch(5, partner=committed_partner, status=Status.ACTIVE)
        with delivering():
            wait_until(lambda: len(receiver.requests) == 5)
            wait_until(lambda: broken.deliveries.filter(attempt_count__gt=0).count() == 5)
            assert dead.most_open == len(dead.requests) == 2
            end.set()
            wait_until(delivered(committed_partner, 10))
    assert {one.attempts[0]["error"] for one in broken.deliveries.all()} == {"secret"}
    assert sorted(set(dead.events())) == sorted(receiver.events())
    assert dead.most_open == 2
    assert_log_is_discreet(caplog.text)


def test_a_locked_endpoint_delays_no_other_and_is_sent_each_event_once(
    committed_partner: Partner,
    authority: Authority,
    receiver: Receiver,
    add_endpoint: AddEndpoint,
    delivering: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    go_on = threading.Event()
    with authority.receiver() as other, psycopg.connect(database_url("default")) as session, delivering():
        locked, _ = add_endpoint(committed_partner, receiver)
        receiver.reply = lambda _: Reply(wait=lambda: go_on.wait(WAIT_SECONDS))
        UserFactory.create(partner=committed_partner, status=Status.ACTIVE)
        wait_until(lambda: receiver.open == 1)
        session.execute("SELECT FROM events_webhookendpoint WHERE id = %s FOR NO KEY UPDATE", [locked.pk])
        go_on.set()
        wait_until(lambda: "webhook attempt" in caplog.text)

        partner = PartnerFactory.create()
        add_endpoint(partner, other)
        UserFactory.create_batch(2, partner=partner, status=Status.ACTIVE)
        wait_until(delivered(partner, 2))
        assert locked.deliveries.get().attempt_count == 0
        session.rollback()
        wait_until(delivered(committed_partner, 1))
    assert len(receiver.requests) == 1
    assert "database not reached" not in caplog.text


def assert_log_is_discreet(text: str) -> None:
    assert text.count("webhook attempt") >= 15
    assert not any(secret in text for secret in ("secret-path", "whsec_", "externalId", "https://"))


def test_a_user_s_events_arrive_in_order_if_none_fails(
    committed_partner: Partner, receiver: Receiver, add_endpoint: AddEndpoint, delivering: Any
) -> None:
    add_endpoint(committed_partner, receiver)
    users = [UserFactory.create(partner=committed_partner) for _ in range(3)]
    for status in (Status.ACTIVE, Status.SUSPENDED, Status.ACTIVE):
        for user in users:
            StatusChangeFactory.create(user=user, to_status=status)
    with delivering(), delivering():
        wait_until(delivered(committed_partner, 9))
    received = [request.json()["data"] for request in receiver.requests]
    for user in users:
        times = [data["updatedAt"] for data in received if data["userId"] == str(user.pk)]
        assert len(times) == 3
        assert times == sorted(times)
    assert receiver.most_open <= 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_check_knows_it_and_a_signal_ends_it_when_the_sends_under_way_have_ended(
    committed_partner: Partner, receiver: Receiver, add_endpoint: AddEndpoint, process: Any, number: signal.Signals
) -> None:
    add_endpoint(committed_partner, receiver)
    go_on = threading.Event()
    receiver.reply = lambda _: Reply(wait=lambda: go_on.wait(WAIT_SECONDS))
    UserFactory.create_batch(3, partner=committed_partner, status=Status.ACTIVE)
    with process() as running:
        wait_until(lambda: receiver.open == 2)
        wait_until(lambda: list(check_deliverer()) == [])
        running.send_signal(number)
        go_on.set()
        assert running.wait(WAIT_SECONDS) == 0
    # A third may have been leased before the signal.
    assert 2 <= len(receiver.requests) <= 3
    assert delivered(committed_partner, len(receiver.requests))()
    assert not WebhookDelivery.objects.filter(endpoint__partner=committed_partner).exclude(leased_until=None)


@pytest.mark.parametrize("part", [(Relay, "assign_positions"), (delivering_module, "lease")], ids=["relay", "lease"])
def test_an_error_that_is_not_the_database_s_ends_the_process(
    committed_partner: Partner, part: tuple[object, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(*part, fail)
    with pytest.raises(ZeroDivisionError):
        Deliverer().run()


def test_it_goes_on_after_its_connection_was_lost(
    committed_partner: Partner,
    receiver: Receiver,
    add_endpoint: AddEndpoint,
    delivering: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    add_endpoint(committed_partner, receiver)
    go_on = threading.Event()
    receiver.reply = lambda _: Reply(wait=lambda: go_on.wait(WAIT_SECONDS))
    UserFactory.create(partner=committed_partner, status=Status.ACTIVE)
    with psycopg.connect(database_url("default", SUPERUSER), autocommit=True) as superuser, delivering():
        wait_until(lambda: receiver.open == 1)
        # The deliverer's alone.
        ended = superuser.execute(
            """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND backend_start > (
                      SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())"""
        ).fetchall()
        assert ended
        wait_until(lambda: "database reached again" in caplog.text)
        go_on.set()
        wait_until(delivered(committed_partner, 1))
    assert caplog.text.count("database not reached") == 1
    assert len(receiver.requests) == 1
