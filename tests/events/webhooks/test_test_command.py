"""`test_webhook` sends one `webhook.test` now, and says what came back."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from events.models import WebhookEndpoint
from events.webhooks import endpoints
from partners.models import Partner
from tests.factories import WebhookDeliveryFactory
from tests.support.commands import run
from tests.support.receiver import Receiver, Reply

pytestmark = pytest.mark.django_db


@pytest.fixture
def endpoint(add_endpoint: Callable[..., tuple[WebhookEndpoint, str]], partner: Partner, receiver: Receiver) -> Any:
    return add_endpoint(partner, receiver)[0]


@pytest.mark.parametrize("enabled", [True, False])
def test_a_test_that_is_received_is_a_success(endpoint: WebhookEndpoint, receiver: Receiver, enabled: bool) -> None:  # noqa: FBT001
    if not enabled:
        endpoints.disable(endpoint)
    end = run("test_webhook", str(endpoint.pk), "--json")
    [request] = receiver.requests
    assert request.json()["type"] == "webhook.test"
    assert request.json()["data"] == {"webhookId": str(endpoint.pk)}
    delivery = endpoint.deliveries.get()
    assert (str(delivery.event_uuid), delivery.state) == (request.event_id, "delivered")
    milliseconds = delivery.attempts[0]["milliseconds"]
    found = {"webhookId": str(endpoint.pk), "status": 204, "milliseconds": milliseconds, "error": None}
    assert (json.loads(end.output), end.status) == (found, 0)


@pytest.mark.parametrize("status", [301, 410, 503])
def test_another_status_than_2xx_is_a_failure(endpoint: WebhookEndpoint, receiver: Receiver, status: int) -> None:
    receiver.reply = lambda _: Reply(status)
    end = run("test_webhook", str(endpoint.pk), "--json")
    assert (json.loads(end.output)["status"], end.status) == (status, 1)
    assert endpoint.deliveries.get().state == "failed"
    assert len(receiver.requests) == 1
    endpoint.refresh_from_db()
    assert endpoint.is_active


def test_it_waits_for_room_like_any_delivery(endpoint: WebhookEndpoint, receiver: Receiver) -> None:
    for _ in range(2):
        WebhookDeliveryFactory.create(endpoint=endpoint, leased_until=timezone.now() + timedelta(hours=1))
    end = run("test_webhook", str(endpoint.pk))
    assert (end.status, receiver.requests) == (1, [])
    assert "2 requests to it are under way" in end.errors
    assert endpoint.deliveries.count() == 2


def test_an_error_is_named(endpoint: WebhookEndpoint) -> None:
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(url="https://nowhere.invalid/")
    end = run("test_webhook", str(endpoint.pk))
    assert end.status == 1
    assert end.output.startswith("Error: dns, after ")
