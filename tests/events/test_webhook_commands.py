"""Commands about webhooks: docs/operations.md."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from events.models import DeliveryState, WebhookEndpoint
from events.webhooks import addresses, endpoints
from partners.models import Partner
from tests.factories import WebhookDeliveryFactory, WebhookEndpointFactory
from tests.support.commands import outcome, printed, refusal
from tests.support.webhook_secrets import secrets_in_force

URL = "https://hooks.example.com/events"
UNKNOWN = "11111111-1111-1111-1111-111111111111"
LISTED = {
    *("webhookId", "url", "types", "description", "state"),
    *("disabledReason", "lastSuccessAt", "failingSince"),
}


@pytest.fixture(autouse=True)
def resolvable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any host name has public addresses."""
    monkeypatch.setattr(addresses, "check_addresses", lambda *_: None)


@pytest.fixture
def endpoint(partner: Partner) -> WebhookEndpoint:
    return WebhookEndpointFactory.create(partner=partner, url=URL)


def listed(partner: Partner) -> list[dict[str, Any]]:
    webhooks: list[dict[str, Any]] = outcome("list_webhooks", partner.slug)["webhooks"]
    return webhooks


@pytest.mark.parametrize(
    "types",
    [
        ("--type", "user.statusChanged", "--type", "user.documentPublished"),
        ("--type", "user.statusChanged", "user.documentPublished"),
    ],
    ids=["one by one", "together"],
)
def test_an_added_webhook_is_listed(partner: Partner, types: tuple[str, ...]) -> None:
    added = outcome("add_webhook", partner.slug, URL, *types, "--description", "production")
    endpoint = endpoints.find_endpoint(added["webhookId"])
    assert added == {
        "webhookId": str(endpoint.pk),
        "url": URL,
        "types": ["user.statusChanged", "user.documentPublished"],
        "secret": secrets_in_force(endpoint)[0],
    }
    assert listed(partner) == [
        {
            "webhookId": str(endpoint.pk),
            "url": URL,
            "types": ["user.statusChanged", "user.documentPublished"],
            "description": "production",
            "state": "active",
            "disabledReason": None,
            "lastSuccessAt": None,
            "failingSince": None,
        }
    ]


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
    endpoints.disable(endpoint, "failing")
    endpoints.remove(WebhookEndpointFactory.create(partner=endpoint.partner))
    [webhook] = listed(endpoint.partner)
    assert webhook.keys() == LISTED
    assert (webhook["state"], webhook["disabledReason"]) == ("disabled", "failing")
    assert webhook["lastSuccessAt"].startswith("2026-01-15T10:30:00")
    assert webhook["failingSince"].startswith("2026-01-15T11:30:00")
    assert "failing" in printed("list_webhooks", endpoint.partner.slug)


def test_a_webhook_is_changed(endpoint: WebhookEndpoint) -> None:
    webhook_id = str(endpoint.pk)
    assert outcome("set_webhook", webhook_id, "--disable")["disabledReason"] == "staff"
    assert outcome("set_webhook", webhook_id, "--type", "user.statusChanged")["state"] == "disabled"
    changed = outcome("set_webhook", webhook_id, "--url", "https://other.example.com/", "--enable")
    assert changed.keys() == LISTED
    assert [changed] == listed(endpoint.partner)
    assert (changed["url"], changed["types"]) == ("https://other.example.com/", ["user.statusChanged"])
    assert (changed["state"], changed["disabledReason"]) == ("active", None)
    assert outcome("set_webhook", webhook_id, "--type")["types"] == []


def test_a_removed_webhook_is_gone(endpoint: WebhookEndpoint) -> None:
    assert outcome("remove_webhook", str(endpoint.pk)) == {"webhookId": str(endpoint.pk)}
    assert listed(endpoint.partner) == []
    assert refusal("remove_webhook", str(endpoint.pk)) == "Webhook not found."


@pytest.mark.parametrize(("hours", "in_force"), [("24", 2), ("0", 1)])
def test_a_rotated_secret_signs_until_the_overlap_ends(endpoint: WebhookEndpoint, hours: str, in_force: int) -> None:
    rotated = outcome("rotate_webhook_secret", str(endpoint.pk), "--overlap-hours", hours)
    assert rotated["webhookId"] == str(endpoint.pk)
    secrets = secrets_in_force(endpoint)
    assert (secrets[0], len(secrets)) == (rotated["secret"], in_force)


@pytest.mark.parametrize(
    "command", ["set_webhook", "remove_webhook", "rotate_webhook_secret", "test_webhook", "retry_webhooks"]
)
def test_an_unknown_webhook_is_one_line(command: str, endpoint: WebhookEndpoint) -> None:
    assert refusal(command, UNKNOWN) == "Webhook not found."


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([URL, "--type", "user.created"], "types: Unknown type user.created"),
        (["http://hooks.example.com/"], "url: "),
        (["https://hooks.example.com/\udcff"], "url is not text in UTF-8."),
        ([URL, "--description", "a" * 201], "description: "),
    ],
    ids=str,
)
def test_an_invalid_value_is_one_line(partner: Partner, arguments: list[str], text: str) -> None:
    assert refusal("add_webhook", partner.slug, *arguments).startswith(text)
    assert not partner.webhooks.exists()


def test_an_invalid_value_changes_nothing(endpoint: WebhookEndpoint) -> None:
    assert refusal("set_webhook", str(endpoint.pk), "--disable", "--url", "https://10.0.0.1/").startswith("url: ")
    assert refusal("set_webhook", str(endpoint.pk), "--disable", "--type", "none").startswith("types: ")
    assert refusal("set_webhook", str(endpoint.pk)).startswith("Nothing to change")
    assert refusal("add_webhook", "nobody", URL) == "Partner 'nobody' not found."
    [webhook] = listed(endpoint.partner)
    assert (webhook["url"], webhook["state"]) == (URL, "active")


def test_failed_and_waiting_deliveries_are_retried(endpoint: WebhookEndpoint) -> None:
    WebhookDeliveryFactory.create(endpoint=endpoint, state=DeliveryState.FAILED)
    WebhookDeliveryFactory.create(endpoint=endpoint, next_attempt_at=timezone.now() + timedelta(hours=10))
    WebhookDeliveryFactory.create(endpoint=endpoint, state=DeliveryState.DELIVERED)
    WebhookDeliveryFactory.create(state=DeliveryState.FAILED)
    webhook_id = str(endpoint.pk)
    tomorrow = (timezone.now() + timedelta(days=1)).isoformat()
    assert outcome("retry_webhooks", webhook_id, "--since", tomorrow) == {"deliveries": 0}
    assert outcome("retry_webhooks", webhook_id, "--since", "2026-01-15T10:30:00Z") == {"deliveries": 2}
    assert endpoint.deliveries.filter(state="pending", next_attempt_at__lte=timezone.now()).count() == 2


def test_a_retry_that_makes_no_sense_is_one_line(endpoint: WebhookEndpoint) -> None:
    assert "RFC 3339" in refusal("retry_webhooks", str(endpoint.pk), "--since", "yesterday")
    endpoints.disable(endpoint)
    assert "is disabled" in refusal("retry_webhooks", str(endpoint.pk))
