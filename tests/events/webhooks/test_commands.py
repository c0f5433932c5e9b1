"""Commands about webhooks (docs/operations.md); the rules are in test_endpoints.py and test_results.py."""

import json
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.utils import timezone

from events.models import DeliveryState, WebhookEndpoint
from events.webhooks import addresses, endpoints
from partners.models import Partner
from tests.factories import WebhookDeliveryFactory, WebhookEndpointFactory
from tests.support import drift
from tests.support.commands import outcome, printed, refusal, run
from tests.support.events import secrets_in_force
from tests.support.receiver import Receiver, Reply

URL = "https://hooks.example.com/events"
UNKNOWN = "11111111-1111-1111-1111-111111111111"
AS_ADDED = {
    "url": URL,
    "types": ["user.statusChanged", "user.documentPublished"],
    "description": "production",
    "state": "active",
    "disabledReason": None,
    "lastSuccessAt": None,
    "failingSince": None,
}


@pytest.fixture
def endpoint(partner: Partner, monkeypatch: pytest.MonkeyPatch) -> WebhookEndpoint:
    """A webhook; any host name has public addresses."""
    monkeypatch.setattr(addresses, "look_up", Mock())
    return WebhookEndpointFactory.create(partner=partner, url=URL)


def listed(partner: Partner) -> list[dict[str, Any]]:
    webhooks: list[dict[str, Any]] = outcome("list_webhooks", partner.slug)["webhooks"]
    return webhooks


@pytest.mark.parametrize("repeated", [("--type",), ()], ids=["one by one", "together"])
def test_an_added_webhook_is_listed(endpoint: WebhookEndpoint, repeated: tuple[str, ...]) -> None:
    partner = endpoint.partner
    types = ("--type", "user.statusChanged", *repeated, "user.documentPublished")
    added = outcome("add_webhook", partner.slug, URL, *types, "--description", "production")
    found = endpoints.find_endpoint(added["webhookId"])
    shown = {"webhookId": str(found.pk), "url": URL, "types": AS_ADDED["types"], "secret": secrets_in_force(found)[0]}
    assert added == shown
    assert {"webhookId": str(found.pk), **AS_ADDED} in listed(partner)


def test_a_secret_is_shown_where_it_is_made_and_in_no_list(endpoint: WebhookEndpoint) -> None:
    slug = endpoint.partner.slug
    for text in (printed("add_webhook", slug, URL), printed("rotate_webhook_secret", str(endpoint.pk))):
        assert "whsec_" in text
        assert "shown this once" in text
    for text in (printed("list_webhooks", slug), printed("list_webhooks", slug, "--json")):
        assert "whsec_" not in text


def test_a_list_says_how_webhooks_stand(endpoint: WebhookEndpoint) -> None:
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(
        last_success_at="2026-01-15T10:30:00Z", failing_since="2026-01-15T11:30:00Z"
    )
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(disabled_reason="failing", disabled_at=timezone.now())
    endpoints.remove(WebhookEndpointFactory.create(partner=endpoint.partner))
    [webhook] = listed(endpoint.partner)
    assert webhook.keys() == {"webhookId", *AS_ADDED}
    assert (webhook["state"], webhook["disabledReason"]) == ("disabled", "failing")
    assert webhook["lastSuccessAt"].startswith("2026-01-15T10:30:00")
    assert webhook["failingSince"].startswith("2026-01-15T11:30:00")
    assert "failing" in printed("list_webhooks", endpoint.partner.slug)


def test_a_webhook_is_changed_and_removed(endpoint: WebhookEndpoint) -> None:
    webhook_id = str(endpoint.pk)
    assert outcome("set_webhook", webhook_id, "--disable")["disabledReason"] == "staff"
    assert outcome("set_webhook", webhook_id, "--type", "user.statusChanged")["state"] == "disabled"
    changed = outcome("set_webhook", webhook_id, "--url", "https://other.example.com/", "--enable")
    assert [changed] == listed(endpoint.partner)
    assert (changed["url"], changed["types"]) == ("https://other.example.com/", ["user.statusChanged"])
    assert (changed["state"], changed["disabledReason"]) == ("active", None)
    assert outcome("set_webhook", webhook_id, "--type")["types"] == []
    assert outcome("remove_webhook", webhook_id) == {"webhookId": webhook_id}
    assert listed(endpoint.partner) == []


def test_a_rotated_secret_signs_for_a_day_unless_asked_otherwise(endpoint: WebhookEndpoint) -> None:
    rotated = outcome("rotate_webhook_secret", str(endpoint.pk))
    assert (rotated["webhookId"], secrets_in_force(endpoint)[0]) == (str(endpoint.pk), rotated["secret"])
    _, old = endpoints.secrets_of(endpoint)
    assert old.expires_at
    assert abs(old.expires_at - timezone.now() - timedelta(hours=24)) < timedelta(minutes=5)
    again = outcome("rotate_webhook_secret", str(endpoint.pk), "--overlap-hours", "0")
    assert secrets_in_force(endpoint) == [again["secret"]]


def test_an_unknown_webhook_is_one_line(db: None) -> None:
    for command in ("set_webhook", "remove_webhook", "rotate_webhook_secret", "test_webhook", "retry_webhooks"):
        assert refusal(command, UNKNOWN) == "Webhook not found.", command


WRONG = {
    "url: ": ["http://hooks.example.com/"],
    "url is not text in UTF-8.": ["https://hooks.example.com/\udcff"],
    "types: Unknown type user.created": [URL, "--type", "user.created"],
    "description: ": [URL, "--description", "a" * 201],
}


def test_an_invalid_value_is_one_line_and_changes_nothing(endpoint: WebhookEndpoint) -> None:
    before = listed(endpoint.partner)
    for text, arguments in WRONG.items():
        assert text in refusal("add_webhook", endpoint.partner.slug, *arguments)
        url, *others = arguments
        options = others or ["--url", url]
        if others[:1] != ["--description"]:
            assert text in refusal("set_webhook", str(endpoint.pk), "--disable", *options)
    assert listed(endpoint.partner) == before


def test_what_makes_no_sense_is_one_line(endpoint: WebhookEndpoint) -> None:
    assert refusal("add_webhook", "nobody", URL) == "Partner 'nobody' not found."
    assert "RFC 3339" in refusal("retry_webhooks", str(endpoint.pk), "--since", "yesterday")
    endpoints.change_endpoint(endpoint, enabled=False)
    assert "is disabled" in refusal("retry_webhooks", str(endpoint.pk))


def test_failed_and_waiting_deliveries_are_retried(endpoint: WebhookEndpoint) -> None:
    WebhookDeliveryFactory.create(endpoint=endpoint, state=DeliveryState.FAILED)
    tomorrow = (timezone.now() + timedelta(days=1)).isoformat()
    assert outcome("retry_webhooks", str(endpoint.pk), "--since", tomorrow) == {"deliveries": 0}
    assert outcome("retry_webhooks", str(endpoint.pk), "--since", "2026-01-15T10:30:00Z") == {"deliveries": 1}
    assert endpoint.deliveries.get().state == "pending"


# `test_webhook` sends one `webhook.test` now, and says what came back


@pytest.fixture
def tested(partner: Partner, receiver: Receiver, loopback: None) -> WebhookEndpoint:
    """A webhook at the receiver."""
    return WebhookEndpointFactory.create(partner=partner, url=receiver.url)


@pytest.mark.parametrize("enabled", [True, False])
def test_a_test_that_is_received_is_a_success(tested: WebhookEndpoint, receiver: Receiver, enabled: bool) -> None:  # noqa: FBT001
    if not enabled:
        endpoints.change_endpoint(tested, enabled=False)
    end = run("test_webhook", str(tested.pk), "--json")
    [request] = receiver.requests
    drift.check_event(request.body)
    assert request.json()["type"] == "webhook.test"
    assert request.json()["data"] == {"webhookId": str(tested.pk)}
    delivery = tested.deliveries.get()
    assert (str(delivery.event_uuid), delivery.state) == (request.event_id, "delivered")
    milliseconds = delivery.attempts[0]["milliseconds"]
    found = {"webhookId": str(tested.pk), "status": 204, "milliseconds": milliseconds, "error": None}
    assert (json.loads(end.output), end.status) == (found, 0)


def test_another_status_than_2xx_is_a_failure(tested: WebhookEndpoint, receiver: Receiver) -> None:
    receiver.reply = lambda _: Reply(410)
    end = run("test_webhook", str(tested.pk), "--json")
    assert (json.loads(end.output)["status"], end.status) == (410, 1)
    assert (tested.deliveries.get().state, len(receiver.requests)) == ("failed", 1)
    tested.refresh_from_db()
    assert tested.is_active


def test_it_waits_for_room_like_any_delivery(tested: WebhookEndpoint, receiver: Receiver) -> None:
    leased_until = timezone.now() + timedelta(hours=1)
    WebhookDeliveryFactory.create_batch(2, endpoint=tested, leased_until=leased_until)
    end = run("test_webhook", str(tested.pk))
    assert (end.status, receiver.requests) == (1, [])
    assert "2 requests to it are under way" in end.errors
    assert tested.deliveries.count() == 2


def test_an_error_is_named(partner: Partner) -> None:
    endpoint = WebhookEndpointFactory.create(partner=partner, url="https://nowhere.invalid/")
    end = run("test_webhook", str(endpoint.pk))
    assert end.status == 1
    assert end.output.startswith("Error: dns, after ")
