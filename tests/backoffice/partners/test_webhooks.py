"""The back office of webhooks and their deliveries."""

import re
from datetime import timedelta
from html import unescape
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.messages import get_messages
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from core.models import AuditEntry
from events.models import DeliveryState, WebhookDelivery, WebhookEndpoint
from events.webhooks import addresses, endpoints
from partners.models import Partner
from tests.factories import PartnerFactory, WebhookDeliveryFactory, WebhookEndpointFactory
from tests.support.events import secrets_in_force
from tests.support.staff import client_as, staff_acts, words

PARTNERS = "/admin/partners/partner/"
WEBHOOKS = "/admin/events/webhookendpoint/"
DELIVERIES = "/admin/events/webhookdelivery/"
URL = "https://hooks.example.com/a-path-of-their-own?token=tell-nobody"
ACTIONS = ("add_webhook", "edit", "rotate", "disable", "enable", "remove", "retry", "send_test")


@pytest.fixture(autouse=True)
def resolvable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any host name has public addresses."""
    monkeypatch.setattr(addresses, "look_up", Mock())


@pytest.fixture
def endpoint(partner: Partner) -> WebhookEndpoint:
    return WebhookEndpointFactory.create(partner=partner, url=URL, description="production")


@pytest.fixture
def manager(db: None) -> Client:
    return client_as("partner-manager")


def page_of(row: Partner | WebhookEndpoint | WebhookDelivery) -> str:
    return f"/admin/{row._meta.app_label}/{row._meta.model_name}/{row.pk}/change/"


def url(action: str, endpoint: WebhookEndpoint) -> str:
    return (
        f"{PARTNERS}{endpoint.partner_id}/{action}/"
        if action == "add_webhook"
        else f"{WEBHOOKS}{endpoint.pk}/{action}/"
    )


def fields(client: Client, action: str, endpoint: WebhookEndpoint) -> dict[str, Any]:
    """The action's form as a browser would send it."""
    version = re.search(r'name="version" value="([^"]*)"', client.get(url(action, endpoint)).content.decode())
    assert version
    given: dict[str, dict[str, Any]] = {
        "add_webhook": {"url": "https://other.example.com/", "types": ["user.statusChanged"], "description": "staging"},
        "edit": {"url": URL, "types": ["user.documentPublished"], "description": ""},
        "rotate": {"overlap_hours": "24"},
    }
    return {"version": unescape(version[1])} | given.get(action, {})


def shown_secret(page: str) -> str:
    found = re.search(r"whsec_[A-Za-z0-9+/]{43}=", page)
    assert found
    return found[0]


# Adding and changing


def test_a_host_name_is_looked_up_while_nothing_is_locked(
    manager: Client, endpoint: WebhookEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = fields(manager, "add_webhook", endpoint)
    depths: list[int] = []

    def look_up(*_: object) -> Mock:
        depths.append(len(connection.savepoint_ids))
        return Mock()

    monkeypatch.setattr(addresses, "look_up", look_up)
    outside = len(connection.savepoint_ids)
    assert shown_secret(manager.post(url("add_webhook", endpoint), sent).content.decode())
    assert depths == [outside]


def test_an_added_webhook_is_active_and_its_secret_shown_this_once(manager: Client, endpoint: WebhookEndpoint) -> None:
    response = manager.post(url("add_webhook", endpoint), fields(manager, "add_webhook", endpoint))
    secret = shown_secret(response.content.decode())
    added = WebhookEndpoint.objects.get(description="staging")
    assert (added.url, added.types, added.state) == ("https://other.example.com/", ["user.statusChanged"], "active")
    assert secrets_in_force(added) == [secret]
    assert "no-store" in response.headers["Cache-Control"]
    assert staff_acts() == ["webhookSecret.created", "webhook.created"]
    for path in (page_of(added), page_of(added.partner), WEBHOOKS, f"{WEBHOOKS}{added.pk}/history/", "/admin/"):
        assert "whsec_" not in manager.get(path).content.decode()


@pytest.mark.parametrize("action", ["add_webhook", "rotate"])
def test_a_form_sent_twice_makes_one_secret(action: str, manager: Client, endpoint: WebhookEndpoint) -> None:
    sent = fields(manager, action, endpoint)
    manager.post(url(action, endpoint), sent)
    again = manager.post(url(action, endpoint), sent).content.decode()
    assert "changed since the page was loaded" in again
    assert "whsec_" not in again
    secrets = [secret for one in WebhookEndpoint.objects.all() for secret in secrets_in_force(one)]
    assert len(secrets) == 2


def test_a_sixth_webhook_is_refused(manager: Client, endpoint: WebhookEndpoint) -> None:
    WebhookEndpointFactory.create_batch(4, partner=endpoint.partner)
    page = manager.post(url("add_webhook", endpoint), fields(manager, "add_webhook", endpoint)).content.decode()
    assert "at most 5 webhooks" in page
    assert endpoint.partner.webhooks.count() == 5


INVALID: list[dict[str, Any]] = [
    {"url": ""},
    {"url": "http://hooks.example.com/"},
    {"url": "https://10.0.0.1/"},
    {"url": f"https://hooks.example.com/{'a' * 500}"},
    {"types": ["user.created"]},
    {"description": "a" * 201},
    {"description": "\0"},
]


@pytest.mark.parametrize(
    ("action", "given"),
    [
        *((action, given) for action in ("add_webhook", "edit") for given in INVALID),
        *(("rotate", {"overlap_hours": hours}) for hours in ("", "-1", "169", "9" * 40, "nan")),
    ],
    ids=str,
)
def test_a_form_that_is_not_valid_does_nothing(
    action: str, given: dict[str, Any], manager: Client, endpoint: WebhookEndpoint
) -> None:
    page = manager.post(url(action, endpoint), fields(manager, action, endpoint) | given)
    assert page.status_code == 200
    assert "Nothing was done." in page.content.decode()
    assert [(one.url, one.description) for one in WebhookEndpoint.objects.all()] == [(URL, "production")]
    assert len(secrets_in_force(endpoint)) == 1
    assert not staff_acts()


def test_a_change_is_logged_by_its_fields(manager: Client, endpoint: WebhookEndpoint) -> None:
    assert f'value="{URL}"' in manager.get(url("edit", endpoint)).content.decode()
    manager.post(url("edit", endpoint), fields(manager, "edit", endpoint))
    endpoint.refresh_from_db()
    assert (endpoint.url, endpoint.types, endpoint.description) == (URL, ["user.documentPublished"], "")
    assert staff_acts() == ["webhook.changed"]


def test_an_older_page_does_not_undo_what_was_changed_meanwhile(manager: Client, endpoint: WebhookEndpoint) -> None:
    older = fields(manager, "edit", endpoint)
    endpoints.change_endpoint(endpoint, types=["user.statusChanged"])
    page = manager.post(url("edit", endpoint), older, follow=True).content.decode()
    assert "This has changed since the page was loaded." in page
    assert re.search(r'value="user.statusChanged"[^>]* checked', page)
    endpoint.refresh_from_db()
    assert (endpoint.types, endpoint.description) == (["user.statusChanged"], "production")


def test_a_change_during_the_look_up_of_the_host_is_not_undone(
    manager: Client, endpoint: WebhookEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = fields(manager, "edit", endpoint) | {"url": "https://other.example.com/"}

    def look_up(*_: object) -> Mock:
        with transaction.atomic():
            WebhookEndpoint.objects.update(description="staging")
        return Mock()

    monkeypatch.setattr(addresses, "look_up", look_up)
    page = manager.post(url("edit", endpoint), sent).content.decode()
    assert "This has changed since the page was loaded." in page
    endpoint.refresh_from_db()
    assert endpoint.url == URL


def test_a_description_of_two_lines_does_not_stop_a_change(manager: Client, endpoint: WebhookEndpoint) -> None:
    endpoints.change_endpoint(endpoint, description="line one\nline two")
    manager.post(url("edit", endpoint), fields(manager, "edit", endpoint))
    endpoint.refresh_from_db()
    assert endpoint.description == ""


@pytest.mark.parametrize("overlap", [0, 24])
def test_a_rotated_secret_goes_on_for_the_overlap(overlap: int, manager: Client, endpoint: WebhookEndpoint) -> None:
    [old] = secrets_in_force(endpoint)
    sent = fields(manager, "rotate", endpoint) | {"overlap_hours": str(overlap)}
    new = shown_secret(manager.post(url("rotate", endpoint), sent).content.decode())
    assert secrets_in_force(endpoint) == ([new, old] if overlap else [new])
    assert set(staff_acts()) == {"webhookSecret.created", "webhookSecret.changed"}


def test_a_webhook_is_disabled_enabled_and_removed(manager: Client, endpoint: WebhookEndpoint) -> None:
    for action, state in (("disable", "disabled"), ("enable", "active"), ("remove", "disabled")):
        page = manager.post(url(action, endpoint), fields(manager, action, endpoint), follow=True)
        assert page.redirect_chain[0][0] == page_of(endpoint)
        endpoint.refresh_from_db()
        assert endpoint.state == state
    assert endpoint.removed_at
    assert staff_acts() == ["webhook.changed"] * 3
    assert ">removed<" in manager.get(page_of(endpoint)).content.decode()
    assert str(endpoint.pk) not in manager.get(page_of(endpoint.partner)).content.decode()


def test_a_page_offers_what_can_be_done(manager: Client, endpoint: WebhookEndpoint) -> None:
    def offered() -> set[str]:
        page = manager.get(page_of(endpoint)).content.decode()
        return {action for action in ACTIONS if url(action, endpoint) in page}

    always = {"edit", "rotate", "remove", "send_test"}
    assert offered() == always | {"disable", "retry"}
    endpoints.change_endpoint(endpoint, enabled=False)
    assert offered() == always | {"enable"}
    endpoints.remove(endpoint)
    assert offered() == set()


@pytest.mark.parametrize("action", ACTIONS[1:])
def test_an_action_on_a_removed_webhook_does_nothing(action: str, manager: Client, endpoint: WebhookEndpoint) -> None:
    sent = fields(manager, action, endpoint)
    endpoints.remove(endpoint)
    for response in (manager.get(url(action, endpoint)), manager.post(url(action, endpoint), sent)):
        assert response.status_code == 403
    assert not staff_acts()


# Who may what


def test_who_only_reads_is_offered_no_action(endpoint: WebhookEndpoint) -> None:
    client, delivery = (
        client_as("auditor"),
        WebhookDeliveryFactory.create(endpoint=endpoint, state=DeliveryState.FAILED),
    )
    for page in (page_of(endpoint), page_of(endpoint.partner), page_of(delivery)):
        text = client.get(page).content.decode()
        assert not [action for action in ACTIONS if url(action, endpoint) in text]
        assert "/retry/" not in text


@pytest.mark.parametrize("role", ["auditor", "partner-manager"])
def test_who_may_see_webhooks_sees_the_whole_url(role: str, endpoint: WebhookEndpoint) -> None:
    assert "a-path-of-their-own?token=tell-nobody" in client_as(role).get(page_of(endpoint)).content.decode()


def test_secrets_and_url_paths_are_in_no_log_message_or_session(
    manager: Client, endpoint: WebhookEndpoint, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    WebhookDeliveryFactory.create(endpoint=endpoint, state=DeliveryState.FAILED)
    secrets = secrets_in_force(endpoint)
    pages = ""
    for action in ("add_webhook", "edit", "rotate", "send_test", "retry", "disable", "enable", "remove"):
        sent = fields(manager, action, endpoint)
        if action == "edit":
            sent["url"] += "&more=1"
        response = manager.post(url(action, endpoint), sent)
        if action in {"add_webhook", "rotate"}:
            secrets.append(shown_secret(response.content.decode()))
        pages += "".join(str(message) for message in get_messages(response.wsgi_request))
    kept = [*AuditEntry.objects.values(), dict(manager.session), caplog.text, pages]
    kept += capsys.readouterr()
    for text in (*secrets, "a-path-of-their-own", "tell-nobody"):
        assert text not in str(kept)


# Pages


def test_a_partner_s_page_shows_the_state_of_its_webhooks(endpoint: WebhookEndpoint) -> None:
    other = WebhookEndpointFactory.create(partner=endpoint.partner)
    WebhookEndpoint.objects.filter(pk=other.pk).update(disabled_reason="gone", disabled_at=timezone.now())
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(
        failing_since="2026-01-15T10:30:00Z", last_success_at="2026-01-15T09:30:00Z"
    )
    theirs = WebhookEndpointFactory.create(partner=PartnerFactory.create())
    page = client_as("auditor").get(page_of(endpoint.partner)).content.decode()
    for text in (page_of(endpoint), "failing", "05:30 EST", "04:30 EST", "disabled It responded with 410 Gone"):
        assert text in page or text in words(page)
    assert page_of(theirs) not in page


def test_a_delivery_s_page_shows_its_attempts(endpoint: WebhookEndpoint) -> None:
    delivery = WebhookDeliveryFactory.create(
        endpoint=endpoint,
        attempts=[
            {"at": "2026-01-15T10:30:00.123456Z", "milliseconds": 37, "status": 503},
            {"at": "2026-01-15T10:30:05.123456Z", "milliseconds": 15000, "error": "timeout"},
        ],
        next_attempt_at=timezone.now() + timedelta(minutes=5),
    )
    auditor = client_as("auditor")
    page = words(auditor.get(page_of(delivery)).content.decode())
    for text in ("HTTP 503", "37 ms", "15000 ms", "Pending", str(delivery.event_uuid)):
        assert text in page
    assert page.index("15000 ms") < page.index("37 ms")
    assert "data-awaited" not in auditor.get(page_of(delivery)).content.decode()
    for path in (DELIVERIES, page_of(endpoint)):
        assert "Pending" in words(auditor.get(path).content.decode())


def test_deliveries_are_filtered_by_state_type_webhook_and_partner(manager: Client, endpoint: WebhookEndpoint) -> None:
    failed = WebhookDeliveryFactory.create(endpoint=endpoint, state=DeliveryState.FAILED)
    test = WebhookDelivery.objects.create(endpoint=endpoint, type="webhook.test")
    theirs = WebhookDeliveryFactory.create(state=DeliveryState.DELIVERED)
    filters = {
        ("state__exact", "failed"): [failed],
        ("state__exact", "pending"): [test],
        ("type", "webhook.test"): [test],
        ("type", "user.statusChanged"): [theirs, failed],
        ("endpoint", str(endpoint.pk)): [test, failed],
        ("endpoint__partner__id__exact", str(theirs.endpoint.partner_id)): [theirs],
    }
    for (name, value), rows in filters.items():
        assert list(manager.get(DELIVERIES, {name: value}).context["cl"].result_list) == rows, name
    assert manager.get(DELIVERIES, {"endpoint__url__startswith": "https://"}).status_code == 400


def test_a_test_is_a_delivery_whose_page_shows_the_result(manager: Client, endpoint: WebhookEndpoint) -> None:
    response = manager.post(url("send_test", endpoint), fields(manager, "send_test", endpoint))
    delivery = WebhookDelivery.objects.get(endpoint=endpoint)
    assert response.headers["Location"] == page_of(delivery)
    assert (delivery.type, delivery.event, delivery.state) == ("webhook.test", None, "pending")
    assert "data-awaited" in manager.get(page_of(delivery)).content.decode()
    assert staff_acts() == ["webhook.tested"]


@pytest.mark.parametrize("state", [DeliveryState.FAILED, DeliveryState.PENDING])
def test_a_delivery_is_retried(state: DeliveryState, manager: Client, endpoint: WebhookEndpoint) -> None:
    later = timezone.now() + timedelta(hours=10)
    delivery, other = WebhookDeliveryFactory.create_batch(
        2, endpoint=endpoint, state=state, next_attempt_at=later if state == DeliveryState.PENDING else None
    )
    assert "webhook-id" in manager.get(f"{DELIVERIES}{delivery.pk}/retry/").content.decode()
    assert manager.post(f"{DELIVERIES}{delivery.pk}/retry/").headers["Location"] == page_of(delivery)
    delivery.refresh_from_db()
    assert delivery.state == "pending"
    assert delivery.next_attempt_at is not None
    assert delivery.next_attempt_at <= timezone.now()
    other.refresh_from_db()
    assert other.state == state
    assert staff_acts() == ["webhook.retried"]


def test_all_deliveries_of_a_webhook_are_retried(manager: Client, endpoint: WebhookEndpoint) -> None:
    WebhookDeliveryFactory.create_batch(2, endpoint=endpoint, state=DeliveryState.FAILED)
    WebhookDeliveryFactory.create(endpoint=endpoint, state=DeliveryState.DELIVERED)
    WebhookDeliveryFactory.create(state=DeliveryState.FAILED)
    page = manager.post(url("retry", endpoint), follow=True).content.decode()
    assert "attempted now: 2" in page
    assert endpoint.deliveries.filter(state="pending").count() == 2
    assert staff_acts() == ["webhook.retried"]


def test_what_cannot_be_retried_is_not(manager: Client, endpoint: WebhookEndpoint) -> None:
    delivery = WebhookDeliveryFactory.create(endpoint=endpoint, state=DeliveryState.DELIVERED)
    assert "/retry/" not in manager.get(page_of(delivery)).content.decode()
    page = manager.post(f"{DELIVERIES}{delivery.pk}/retry/", follow=True).content.decode()
    assert "cannot be attempted again" in page
    assert not staff_acts()


def test_deliveries_of_a_disabled_webhook_are_not_retried(manager: Client, endpoint: WebhookEndpoint) -> None:
    later = timezone.now() + timedelta(hours=1)
    delivery = WebhookDeliveryFactory.create(endpoint=endpoint, next_attempt_at=later)
    endpoints.change_endpoint(endpoint, enabled=False)
    page = manager.post(f"{WEBHOOKS}{endpoint.pk}/retry/", follow=True).content.decode()
    assert "The webhook is disabled." in page
    page = manager.post(f"{DELIVERIES}{delivery.pk}/retry/", follow=True).content.decode()
    assert "The webhook is disabled." in page
    delivery.refresh_from_db()
    assert delivery.next_attempt_at == later
    assert not staff_acts()


def test_rows_that_are_not_there_are_not_found(manager: Client, endpoint: WebhookEndpoint) -> None:
    for path in (
        f"{WEBHOOKS}{'1' * 8}-1111-1111-1111-{'1' * 12}/edit/",
        f"{WEBHOOKS}1/edit/",
        f"{DELIVERIES}{10**40}/retry/",
    ):
        assert manager.post(path).status_code == 404
