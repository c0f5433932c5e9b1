"""Webhooks that a sandbox partner sets up by itself: contract, section 11."""

import itertools
import socket
import time
import uuid
from datetime import timedelta
from threading import Event
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.db.models.functions import Now
from django.utils import timezone
from standardwebhooks.webhooks import Webhook

from core.models import AuditEntry
from core.request_context import request_context
from events.models import WebhookDelivery, WebhookEndpoint, WebhookSecret
from events.webhooks import addresses, deliveries, delivering, endpoints
from partners.api import idempotency
from partners.authentication import keys
from partners.models import ApiKey, IdempotencyRecord, Partner
from sandbox import self_service, views
from tests import factories
from tests.support.at_once import at_once
from tests.support.client import PartnerClient, Response, Transport, now
from tests.support.events import secrets_in_force
from tests.support.receiver import Receiver, Reply
from tests.support.responses import assert_error, codes
from tests.support.timeouts import WAIT_SECONDS

WEBHOOKS = "/v1/sandbox/webhooks"
URL = "https://hooks.example.com/events"
KEY = "7f8d2c1a-3b4e-4f5a-8c6d-9e0f1a2b3c4d"


def add(client: PartnerClient, url: str = URL, **fields: Any) -> dict[str, Any]:
    response = client.post(WEBHOOKS, {"url": url, **fields})
    assert response.status == 201, response.body
    added: dict[str, Any] = response.json()
    return added


def item(webhook: dict[str, Any], name: str = "") -> str:
    return f"{WEBHOOKS}/{webhook['webhookId']}{name}"


def partner_of(client: PartnerClient) -> Partner:
    return keys.find(client.api_key).partner


def test_a_webhook_is_added_listed_and_removed(sandbox: PartnerClient, any_host: None) -> None:
    webhook = add(sandbox, types=["user.documentPublished", "user.statusChanged"], description=" Staging ")
    secret = webhook.pop("secret")
    assert webhook == {
        "webhookId": webhook["webhookId"],
        "url": URL,
        "types": ["user.statusChanged", "user.documentPublished"],
        "description": "Staging",
        "state": "active",
    }
    assert secret.startswith("whsec_")
    assert sandbox.get(WEBHOOKS).json() == {"items": [webhook]}
    # The letter case of an id is ignored.
    removed = sandbox.send("DELETE", item({"webhookId": webhook["webhookId"].upper()}))
    assert (removed.status, removed.json()) == (200, {"webhookId": webhook["webhookId"]})
    assert sandbox.get(WEBHOOKS).json() == {"items": []}
    assert_error(sandbox.send("DELETE", item(webhook)), 404)


def test_the_list_has_those_that_staff_have_added_and_no_other_partner_s(
    sandbox: PartnerClient, sandbox_partner: Partner, any_host: None
) -> None:
    of_staff = factories.WebhookEndpointFactory.create(partner=sandbox_partner)
    of_staff = endpoints.change_endpoint(of_staff, enabled=False)
    factories.WebhookEndpointFactory.create()
    own = add(sandbox)
    items = sandbox.get(WEBHOOKS).json()["items"]
    states = {one["webhookId"]: one["state"] for one in items}
    assert states == {str(of_staff.pk): "disabled", own["webhookId"]: "active"}
    assert not any("secret" in one for one in items)


WRONG: tuple[tuple[Any, dict[str, str]], ...] = (
    ({}, {"url": "required"}),
    ({"url": None}, {"url": "type"}),
    ({"url": 7}, {"url": "type"}),
    ({"url": ""}, {"url": "length"}),
    ({"url": "https://hooks.example.com/" + "a" * 500}, {"url": "length"}),
    ({"url": "http://hooks.example.com/"}, {"url": "format"}),
    ({"url": "https://localhost/"}, {"url": "format"}),
    ({"url": "https://hooks.example.com/\ud800"}, {"url": "format"}),
    ({"url": URL, "types": ["user.renamed"]}, {"types[0]": "notAllowed"}),
    (
        {"url": URL, "types": ["user.statusChanged", "webhook.test", 7]},
        {"types[1]": "notAllowed", "types[2]": "type"},
    ),
    ({"url": URL, "types": [None]}, {"types[0]": "type"}),
    ({"url": URL, "types": "user.statusChanged"}, {"types": "type"}),
    ({"url": URL, "types": None}, {"types": "type"}),
    ({"url": URL, "types": ["user.statusChanged"] * 101}, {"types": "length"}),
    ({"url": URL, "description": "a" * 201}, {"description": "length"}),
    ({"url": URL, "description": "a\nb"}, {"description": "format"}),
    ({"url": URL, "description": None}, {"description": "type"}),
    ({"url": URL, "secret": "whsec_"}, {"secret": "unknown"}),
    ({"url": "ftp://x", "types": ["x"], "more": 1}, {"url": "format", "types[0]": "notAllowed", "more": "unknown"}),
)


def test_errors_name_the_field(sandbox: PartnerClient, any_host: None) -> None:
    assert [codes(sandbox.post(WEBHOOKS, body)) for body, _errors in WRONG] == [errors for _body, errors in WRONG]
    assert not WebhookEndpoint.objects.exists()


def test_a_host_that_is_not_found_gets_the_text_of_one_inside(
    sandbox: PartnerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = assert_error(sandbox.post(WEBHOOKS, {"url": "https://nowhere.invalid/"}), 400)["fieldErrors"]
    assert [(one["field"], one["code"]) for one in refused] == [("url", "notAllowed")]
    inside = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: inside)
    assert assert_error(sandbox.post(WEBHOOKS, {"url": URL}), 400)["fieldErrors"] == refused


def test_a_name_server_that_is_silent_is_waited_for_less_than_five_seconds(
    sandbox: PartnerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = Mock()
    look_up.return_value.result.side_effect = TimeoutError
    monkeypatch.setattr(addresses, "look_up", look_up)
    assert codes(sandbox.post(WEBHOOKS, {"url": URL})) == {"url": "notAllowed"}
    look_up.return_value.result.assert_called_once_with(2.0)


def test_a_sixth_is_a_conflict_staff_s_included(
    sandbox: PartnerClient, sandbox_partner: Partner, any_host: None
) -> None:
    of_staff, *_ = factories.WebhookEndpointFactory.create_batch(4, partner=sandbox_partner)
    add(sandbox)
    assert_error(sandbox.post(WEBHOOKS, {"url": URL}), 409)
    assert sandbox.send("DELETE", item({"webhookId": of_staff.pk})).status == 200
    add(sandbox)


def test_another_partner_s_and_a_removed_one_are_not_found(sandbox: PartnerClient, sandbox_partner: Partner) -> None:
    another = factories.WebhookEndpointFactory.create()
    removed = factories.WebhookEndpointFactory.create(partner=sandbox_partner)
    endpoints.remove(removed)
    for name in ("", "/test", "/rotate-secret"):
        # Existence comes before the body.
        method, body = ("POST", {"x": 1}) if name else ("DELETE", None)
        for unknown in (another.pk, removed.pk, uuid.uuid4()):
            assert_error(sandbox.send(method, item({"webhookId": unknown}, name), body), 404)
        for malformed in ("1", str(another.pk)[:-1], another.pk.hex):
            assert codes(sandbox.send(method, item({"webhookId": malformed}, name), body)) == {"webhookId": "format"}
    another.refresh_from_db()
    assert another.removed_at is None
    assert not WebhookDelivery.objects.exists()


def test_an_idempotency_key_is_refused_where_a_secret_is_shown(sandbox: PartnerClient, any_host: None) -> None:
    refused = {"Idempotency-Key": "notAllowed"}
    rotate = item(add(sandbox), "/rotate-secret")
    for path, body in {WEBHOOKS: {"url": URL}, rotate: {}, "/v1/sandbox/api-keys/rotate": {}}.items():
        assert codes(sandbox.post(path, body, key=KEY)) == refused
        # Before what follows in the order of checks; after the media type.
        for key in (KEY, "no-uuid", ""):
            assert codes(sandbox.post(path, b"{", key=key)) == refused
        assert_error(sandbox.post(path, body, key=KEY, headers={"Content-Type": "text/plain"}), 415)
    assert codes(sandbox.post(item({"webhookId": 1}, "/rotate-secret"), {}, key=KEY)) == refused
    assert [model.objects.count() for model in (WebhookEndpoint, WebhookSecret, ApiKey)] == [1, 1, 1]
    assert_error(sandbox.get(f"/v1/idempotency-keys/{KEY}"), 404)


def test_a_key_has_no_effect_on_the_list_a_removal_and_a_test(
    sandbox: PartnerClient, loopback: None, receiver: Receiver
) -> None:
    webhook = add(sandbox, receiver.url)
    assert sandbox.get(WEBHOOKS, key="no-uuid").status == 200
    assert [sandbox.post(item(webhook, "/test"), {}, key=KEY).status for _ in range(2)] == [200, 200]
    assert len(receiver.requests) == 2
    assert [sandbox.send("DELETE", item(webhook), key=KEY).status for _ in range(2)] == [200, 404]
    assert not IdempotencyRecord.objects.exists()


def do(client: PartnerClient, name: str, webhook: dict[str, Any], url: str, **options: Any) -> Response:
    """Send what a partner does to a webhook; `add` adds another one."""
    if name == "remove":
        return client.send("DELETE", item(webhook), **options)
    path, body = (WEBHOOKS, {"url": url}) if name == "add" else (item(webhook, name), {})
    return client.post(path, body, **options)


def test_a_signature_is_accepted_once(sandbox: PartnerClient, loopback: None, receiver: Receiver) -> None:
    # With a key too where that has no effect.
    for name, key in (*(("add", None), ("/rotate-secret", None)), *itertools.product(("/test", "remove"), (None, KEY))):
        webhook, timestamp = add(sandbox, receiver.url), now()
        assert do(sandbox, name, webhook, receiver.url, timestamp=timestamp, key=key).status in {200, 201}, name
        left = (WebhookEndpoint.objects.count(), WebhookSecret.objects.count(), len(receiver.requests))
        again = do(sandbox, name, webhook, receiver.url, timestamp=timestamp, key=key)
        assert assert_error(again, 401)["message"] == idempotency.ALREADY_RECEIVED, name
        assert (WebhookEndpoint.objects.count(), WebhookSecret.objects.count(), len(receiver.requests)) == left, name
        for endpoint in WebhookEndpoint.objects.filter(removed_at=None):
            endpoints.remove(endpoint)


def test_a_test_is_signed_by_the_secret_that_was_shown(
    sandbox: PartnerClient, loopback: None, receiver: Receiver
) -> None:
    webhook = add(sandbox, receiver.url)
    response = sandbox.post(item(webhook, "/test"), {})
    [received] = receiver.requests
    assert received.json()["type"] == "webhook.test"
    assert received.json()["data"] == {"webhookId": webhook["webhookId"]}
    Webhook(webhook["secret"]).verify(received.body, received.headers)
    delivery = WebhookDelivery.objects.get()
    assert (str(delivery.event_uuid), delivery.state) == (received.event_id, "delivered")
    assert (response.status, response.json()) == (
        200,
        {"status": 204, "milliseconds": delivery.attempts[0]["milliseconds"], "error": None},
    )


def test_a_test_tells_any_status_and_without_an_answer_an_error_alone(
    sandbox: PartnerClient, loopback: None, receiver: Receiver
) -> None:
    webhook = add(sandbox, receiver.url)
    receiver.reply = lambda _: Reply(410)
    result = sandbox.post(item(webhook, "/test"), {}).json()
    assert (result["status"], result["error"]) == (410, None)
    assert result["milliseconds"] >= 0
    assert sandbox.get(WEBHOOKS).json()["items"][0]["state"] == "active"
    receiver.shutdown()
    receiver.server_close()
    response = sandbox.post(item(webhook, "/test"), {})
    assert (response.status, response.json()) == (200, {"status": None, "milliseconds": None, "error": "connect"})
    assert {one.state for one in WebhookDelivery.objects.all()} == {"failed"}


def test_a_test_whose_result_cannot_be_recorded_is_told_and_not_sent_again(
    sandbox: PartnerClient, loopback: None, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = add(sandbox, receiver.url)
    monkeypatch.setattr(delivering, "record", Mock(side_effect=OperationalError("deadlock detected")))
    assert sandbox.post(item(webhook, "/test"), {}).json()["status"] == 204
    assert len(receiver.requests) == 1


def test_a_receiver_that_is_silent_ends_a_test_before_five_seconds(
    sandbox: PartnerClient, loopback: None, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert self_service.TEST_SECONDS < 5
    monkeypatch.setattr(self_service, "TEST_SECONDS", 0.5)
    webhook, released = add(sandbox, receiver.url), Event()
    receiver.reply = lambda _: Reply(wait=lambda: released.wait(WAIT_SECONDS))
    try:
        result = sandbox.post(item(webhook, "/test"), {}).json()
        assert result == {"status": None, "milliseconds": None, "error": "timeout"}
    finally:
        released.set()


def test_what_a_test_does_in_the_database_ends_with_the_requests_time(
    sandbox: PartnerClient, loopback: None, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = add(sandbox, receiver.url)
    deadlines: list[float] = []
    for module, name in ((deliveries, "lease_test"), (delivering, "record")):
        done = getattr(module, name)

        def noted(*args: Any, done: Any = done, **kwargs: Any) -> Any:
            assert request_context.deadline is not None
            deadlines.append(request_context.deadline)
            return done(*args, **kwargs)

        monkeypatch.setattr(module, name, noted)
    assert sandbox.post(item(webhook, "/test"), {}).status == 200
    begun, *recorded = deadlines
    # The receiver's time does not count.
    assert recorded
    assert begun < min(recorded)


def test_a_test_takes_an_empty_object(sandbox: PartnerClient, any_host: None) -> None:
    webhook = add(sandbox)
    assert codes(sandbox.post(item(webhook, "/test"), {"event": 1})) == {"event": "unknown"}
    assert_error(sandbox.post(item(webhook, "/test"), b""), 400)
    assert not WebhookDelivery.objects.exists()


def test_a_test_waits_for_room_like_any_delivery(sandbox: PartnerClient, loopback: None, receiver: Receiver) -> None:
    webhook = add(sandbox, receiver.url)
    endpoint = WebhookEndpoint.objects.get()
    factories.WebhookDeliveryFactory.create_batch(2, endpoint=endpoint, leased_until="2999-01-01T00:00:00Z")
    response = sandbox.post(item(webhook, "/test"), {})
    assert_error(response, 503)
    assert response.header("Retry-After")
    assert receiver.requests == []


def test_one_test_of_a_partner_at_a_time(
    sandbox: PartnerClient, sandbox_partner: Partner, loopback: None, receiver: Receiver
) -> None:
    webhook, other = add(sandbox, receiver.url), add(sandbox, receiver.url)
    under_way = WebhookDelivery.objects.create(
        endpoint_id=other["webhookId"], type="webhook.test", leased_until="2999-01-01T00:00:00Z"
    )
    response = sandbox.post(item(webhook, "/test"), {})
    assert_error(response, 503)
    assert response.header("Retry-After")
    WebhookDelivery.objects.filter(pk=under_way.pk).update(leased_until=None, state="failed", ended_at=Now())
    assert sandbox.post(item(webhook, "/test"), {}).json()["status"] == 204


def test_a_partner_s_slow_request_holds_up_no_other_partner(
    sandbox: PartnerClient, loopback: None, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    monkeypatch.setattr(self_service, "WAIT_SECONDS", 0.01)
    partner = factories.PartnerFactory.create(mode="sandbox")
    slow = factories.client_of(partner, transport)
    webhook, of_slow = add(sandbox, receiver.url), add(slow, receiver.url)
    with views.slow_slot(partner.pk):
        assert_error(slow.post(item(of_slow, "/test"), {}), 503)
        assert_error(slow.get("/v1/ping", headers={views.HEADER: "slow"}), 503)
        # A slot is taken once the request is found valid.
        assert codes(slow.post(item(of_slow, "/test"), {"event": 1})) == {"event": "unknown"}
        assert_error(slow.post(f"{WEBHOOKS}/{KEY}/test", {}), 404)
        assert sandbox.post(item(webhook, "/test"), {}).json()["status"] == 204


def test_few_requests_that_may_take_seconds_run_at_once(
    sandbox: PartnerClient, any_host: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = add(sandbox)
    monkeypatch.setattr(self_service, "WAIT_SECONDS", 0.01)
    for name in ("add", "/test"):
        with views.slow_slot(-1), views.slow_slot(-2):
            response = do(sandbox, name, webhook, URL)
        assert_error(response, 503)
        assert response.header("Retry-After")
    assert (WebhookEndpoint.objects.count(), WebhookDelivery.objects.count()) == (1, 0)
    # Free again.
    add(sandbox)


@pytest.mark.parametrize(("body", "hours"), [({}, 24), ({"overlapHours": 1}, 1), ({"overlapHours": 0}, 0)], ids=str)
def test_both_secrets_are_in_force_during_the_overlap_of_a_day_by_default(
    sandbox: PartnerClient, any_host: None, body: dict[str, int], hours: int
) -> None:
    webhook = add(sandbox)
    rotated = sandbox.post(item(webhook, "/rotate-secret"), body)
    assert (rotated.status, rotated.json()["webhookId"]) == (200, webhook["webhookId"])
    endpoint = WebhookEndpoint.objects.get()
    assert secrets_in_force(endpoint) == [rotated.json()["secret"], *([webhook["secret"]] if hours else [])]
    # All of its errors: test_own_keys.py.
    refused = sandbox.post(item(webhook, "/rotate-secret"), {"overlapHours": 169})
    assert (codes(refused), WebhookSecret.objects.count()) == ({"overlapHours": "range"}, 2)
    ends = [one.expires_at - timezone.now() for one in endpoint.secrets.all() if one.expires_at]
    assert all(abs(one - timedelta(hours=hours)) < timedelta(minutes=5) for one in ends)


def test_the_audit_log_names_the_partner_the_key_and_the_request(
    sandbox: PartnerClient, sandbox_partner: Partner, loopback: None, receiver: Receiver
) -> None:
    first = AuditEntry.objects.order_by("-id").values_list("id", flat=True).first() or 0
    webhook = add(sandbox, receiver.url)
    responses = [
        sandbox.post(item(webhook, "/rotate-secret"), {}),
        sandbox.post(item(webhook, "/test"), {}),
        sandbox.send("DELETE", item(webhook)),
    ]
    entries = list(AuditEntry.objects.filter(id__gt=first).order_by("id"))
    assert {(one.actor, one.actor_kind) for one in entries} == {(sandbox_partner.slug, "partner")}
    assert {one.detail["key"] for one in entries} == {sandbox.api_key[:21]}
    assert {one.object for one in entries} == {webhook["webhookId"]}
    requests = [one.detail["requestId"] for one in entries]
    assert set(requests[1:]) >= {response.header("X-Request-Id") for response in responses}
    assert {one.action for one in entries} == {
        *("webhook.created", "webhookSecret.created", "webhookSecret.changed", "webhook.tested", "webhook.changed")
    }
    assert not any(receiver.url in str(one.detail) or "whsec" in str(one.detail) for one in entries)


def test_no_secret_is_stored_or_logged(
    sandbox: PartnerClient, any_host: None, caplog: pytest.LogCaptureFixture
) -> None:
    webhook = add(sandbox)
    rotated = sandbox.post(item(webhook, "/rotate-secret"), {}).json()
    issued = sandbox.post("/v1/sandbox/api-keys/rotate", {}).json()
    kept = [row.encrypted_secret for model in (WebhookSecret, ApiKey) for row in model.objects.all()]
    for secret in (webhook["secret"], rotated["secret"], issued["secret"], issued["apiKey"]):
        assert secret not in caplog.text
        assert not any(secret in text for text in kept)
    assert not IdempotencyRecord.objects.exists()


def test_a_slow_request_is_done_once_after_its_wait(
    sandbox: PartnerClient, loopback: None, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = add(sandbox, receiver.url)
    waits: list[float] = []
    monkeypatch.setattr(views, "time", Mock(wraps=time, sleep=waits.append))
    for name, key in {"add": None, "/test": KEY, "remove": KEY}.items():
        response = do(sandbox, name, webhook, receiver.url, headers={"X-Sandbox-Fault": "slow"}, key=key)
        assert response.status in {200, 201}, name
    assert waits == [5.0] * 3


# Simultaneous requests: committed rows, and a connection each


def test_two_sixth_webhooks_at_once_make_no_six(
    committed_sandbox: PartnerClient, any_host: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine may be slow.
    monkeypatch.setattr(self_service, "WAIT_SECONDS", WAIT_SECONDS)
    partner = partner_of(committed_sandbox)
    factories.WebhookEndpointFactory.create_batch(4, partner=partner)
    found = at_once(4, lambda _: committed_sandbox.post(WEBHOOKS, {"url": URL}).status)
    assert sorted(found) == [201, 409, 409, 409]
    assert endpoints.endpoints_of(partner).count() == 5


def test_one_of_two_removals_at_once_finds_the_webhook(committed_sandbox: PartnerClient, any_host: None) -> None:
    webhook = factories.WebhookEndpointFactory.create(partner=partner_of(committed_sandbox))
    found = at_once(3, lambda _: committed_sandbox.send("DELETE", item({"webhookId": webhook.pk})).status)
    assert sorted(found) == [200, 404, 404]
    assert WebhookEndpoint.objects.get(pk=webhook.pk).removed_at
