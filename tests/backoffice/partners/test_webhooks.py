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

from backoffice.partners.api_keys import OverlapForm
from backoffice.partners.partner_admin import PartnerAdmin
from backoffice.partners.webhooks import WebhookEndpointAdmin, WebhookForm
from core.models import AuditEntry
from events.models import DeliveryState, WebhookDelivery, WebhookEndpoint
from events.webhooks import addresses, endpoints
from partners.models import Partner
from tests.factories import EventFactory, StaffFactory, WebhookDeliveryFactory, WebhookEndpointFactory
from tests.support.events import secrets_in_force
from tests.support.staff import client_as, list_of, staff_acts, words

PARTNERS = "/admin/partners/partner/"
WEBHOOKS = "/admin/events/webhookendpoint/"
DELIVERIES = "/admin/events/webhookdelivery/"
URL = "https://hooks.example.com/a-path-of-their-own?token=tell-nobody"
ACTIONS = ("add_webhook", "edit", "rotate", "disable", "enable", "remove", "retry", "send_test")
CHANGED = "changed since the page was loaded"


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


def offered(page: str, endpoint: WebhookEndpoint) -> set[str]:
    return {action for action in ACTIONS if url(action, endpoint) in page}


def fields(action: str, endpoint: WebhookEndpoint) -> dict[str, Any]:
    """The action's form as a browser would send it, of a page that is loaded now."""
    page, row = (PartnerAdmin, endpoint.partner) if action == "add_webhook" else (WebhookEndpointAdmin, endpoint)
    given: dict[str, dict[str, Any]] = {
        "add_webhook": {"url": "https://other.example.com/", "types": ["user.statusChanged"], "description": "staging"},
        "edit": {"url": URL, "types": ["user.documentPublished"], "description": ""},
        "rotate": {"overlap_hours": "24"},
    }
    return {"version": getattr(page, action).row_action.version(row)} | given.get(action, {})


def version_on(page: Any) -> str:
    """The version that is in the form of this page."""
    version = re.search(r'name="version" value="([^"]*)"', page.content.decode())
    assert version
    return unescape(version[1])


def shown_secret(page: Any) -> str:
    found = re.search(r"whsec_[A-Za-z0-9+/]{43}=", page.content.decode())
    assert found
    return found[0]


# Adding and changing


def test_a_form_that_is_sent_twice_adds_one_webhook_whose_secret_is_shown_this_once(
    manager: Client, endpoint: WebhookEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = fields("add_webhook", endpoint)
    depths: list[int] = []

    def look_up(*_: object) -> Mock:
        depths.append(len(connection.savepoint_ids))
        return Mock()

    monkeypatch.setattr(addresses, "look_up", look_up)
    outside = len(connection.savepoint_ids)
    response = manager.post(url("add_webhook", endpoint), sent)
    assert depths == [outside], "The host name is looked up while rows are locked."
    secret = shown_secret(response)
    added = WebhookEndpoint.objects.get(description="staging")
    assert (added.url, added.types, added.state) == ("https://other.example.com/", ["user.statusChanged"], "active")
    assert secrets_in_force(added) == [secret]
    assert "no-store" in response.headers["Cache-Control"]
    again = manager.post(url("add_webhook", endpoint), sent).content.decode()
    assert CHANGED in again
    assert staff_acts() == ["webhookSecret.created", "webhook.created"]
    assert WebhookEndpoint.objects.count() == 2
    for page in (again, *(manager.get(path).content.decode() for path in (page_of(added), page_of(added.partner)))):
        assert "whsec_" not in page


def test_one_webhook_more_than_a_partner_may_have_is_refused(
    manager: Client, endpoint: WebhookEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "MAX_ENDPOINTS", 1)
    page = manager.post(url("add_webhook", endpoint), fields("add_webhook", endpoint)).content.decode()
    assert "at most 1 webhooks" in page
    assert endpoint.partner.webhooks.count() == 1


@pytest.mark.parametrize("initial", [{}, {"url": URL}], ids=["added", "changed"])
def test_fields_that_are_not_valid_are_named(initial: dict[str, str]) -> None:
    invalid: list[dict[str, Any]] = [
        {"url": ""},
        {"url": "http://hooks.example.com/"},
        {"url": "https://10.0.0.1/"},
        {"url": f"https://hooks.example.com/{'a' * 500}"},
        {"types": ["user.created"]},
        {"description": "a" * 201},
        {"description": "\0"},
    ]
    valid = {"url": URL, "types": ["user.documentPublished"], "description": ""}
    named = [[*WebhookForm(valid | given, initial=initial).errors] for given in invalid]
    assert named == [[*given] for given in invalid]
    assert not WebhookForm(valid, initial=initial).errors


def test_an_overlap_is_a_number_of_hours_up_to_a_week() -> None:
    valid = {hours: OverlapForm({"overlap_hours": hours}).is_valid() for hours in ("0", "168")}
    invalid = {hours: OverlapForm({"overlap_hours": hours}).is_valid() for hours in ("", "-1", "169", "9" * 40, "nan")}
    assert (set(valid.values()), set(invalid.values())) == ({True}, {False}), valid | invalid


@pytest.mark.parametrize(
    ("action", "given"), [("add_webhook", {"url": ""}), ("edit", {"url": ""}), ("rotate", {"overlap_hours": ""})]
)
def test_a_form_that_is_not_valid_does_nothing(
    action: str, given: dict[str, Any], manager: Client, endpoint: WebhookEndpoint
) -> None:
    page = manager.post(url(action, endpoint), fields(action, endpoint) | given)
    assert page.status_code == 200
    assert "Nothing was done." in page.content.decode()
    assert [(one.url, one.description) for one in WebhookEndpoint.objects.all()] == [(URL, "production")]
    assert len(secrets_in_force(endpoint)) == 1
    assert not staff_acts()


def test_an_older_page_does_not_undo_what_was_changed_meanwhile(manager: Client, endpoint: WebhookEndpoint) -> None:
    sent = fields("edit", endpoint)
    page = manager.get(url("edit", endpoint))
    assert f'value="{URL}"' in page.content.decode()
    older = sent | {"version": version_on(page)}
    # Two lines, as a command may give it.
    endpoints.change_endpoint(endpoint, types=["user.statusChanged"], description="line one\nline two")
    refused = manager.post(url("edit", endpoint), older)
    assert f"This has {CHANGED}." in refused.content.decode()
    assert re.search(r'value="user.statusChanged"[^>]* checked', refused.content.decode())
    endpoint.refresh_from_db()
    assert (endpoint.types, endpoint.description) == (["user.statusChanged"], "line one\nline two")
    assert not staff_acts()
    manager.post(url("edit", endpoint), sent | {"version": version_on(refused)})
    endpoint.refresh_from_db()
    assert (endpoint.url, endpoint.types, endpoint.description) == (URL, ["user.documentPublished"], "")
    assert staff_acts() == ["webhook.changed"]


def test_a_change_during_the_look_up_of_the_host_is_not_undone(
    manager: Client, endpoint: WebhookEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_up(*_: object) -> Mock:
        with transaction.atomic():
            WebhookEndpoint.objects.update(description="staging")
        return Mock()

    monkeypatch.setattr(addresses, "look_up", look_up)
    sent = fields("edit", endpoint) | {"url": "https://other.example.com/"}
    page = manager.post(url("edit", endpoint), sent).content.decode()
    assert f"This has {CHANGED}." in page
    endpoint.refresh_from_db()
    assert endpoint.url == URL


def test_a_rotated_secret_goes_on_for_the_overlap(manager: Client, endpoint: WebhookEndpoint) -> None:
    [old] = secrets_in_force(endpoint)
    sent = fields("rotate", endpoint)
    new = shown_secret(manager.post(url("rotate", endpoint), sent))
    assert secrets_in_force(endpoint) == [new, old]
    assert set(staff_acts()) == {"webhookSecret.created", "webhookSecret.changed"}
    again = manager.post(url("rotate", endpoint), sent).content.decode()
    assert CHANGED in again
    assert "whsec_" not in again
    assert secrets_in_force(endpoint) == [new, old]
    ended = fields("rotate", endpoint) | {"overlap_hours": "0"}
    newest = shown_secret(manager.post(url("rotate", endpoint), ended))
    assert secrets_in_force(endpoint) == [newest]


def test_each_action_leaves_no_secret_or_url_path_in_log_messages_and_session(
    manager: Client, endpoint: WebhookEndpoint, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    WebhookDeliveryFactory.create(endpoint=endpoint, state=DeliveryState.FAILED)
    secrets, messages, states = secrets_in_force(endpoint), "", {}
    for action in ("add_webhook", "edit", "rotate", "send_test", "retry", "disable", "enable", "remove"):
        sent = fields(action, endpoint)
        if action in {"add_webhook", "rotate"}:
            sent["version"] = version_on(manager.get(url(action, endpoint)))
        if action == "edit":
            sent["url"] += "&more=1"
        response = manager.post(url(action, endpoint), sent)
        if action in {"add_webhook", "rotate"}:
            secrets.append(shown_secret(response))
        messages += "".join(str(message) for message in get_messages(response.wsgi_request))
        endpoint.refresh_from_db()
        states[action] = (endpoint.state, response.headers.get("Location"))
    page = page_of(endpoint)
    assert states["disable"] == states["remove"] == ("disabled", page)
    assert states["enable"] == ("active", page)
    assert endpoint.removed_at
    assert staff_acts()[:3] == ["webhook.changed"] * 3
    assert all(text in messages for text in ("is changed", "is disabled", "is enabled", "is removed"))
    kept = [*AuditEntry.objects.values(), dict(manager.session), caplog.text, messages, *capsys.readouterr()]
    for text in (*secrets, "a-path-of-their-own", "tell-nobody"):
        assert text not in str(kept)


def test_a_page_offers_what_can_be_done(manager: Client, endpoint: WebhookEndpoint) -> None:
    def page() -> str:
        return manager.get(page_of(endpoint)).content.decode()

    always = {"edit", "rotate", "remove", "send_test"}
    active = page()
    assert "a-path-of-their-own?token=tell-nobody" in active
    assert offered(active, endpoint) == always | {"disable", "retry"}
    endpoints.change_endpoint(endpoint, enabled=False)
    assert offered(page(), endpoint) == always | {"enable"}
    endpoints.remove(endpoint)
    assert offered(removed := page(), endpoint) == set()
    assert ">removed<" in removed
    assert str(endpoint.pk) not in manager.get(page_of(endpoint.partner)).content.decode()


def test_an_action_on_a_removed_webhook_does_nothing(manager: Client, endpoint: WebhookEndpoint) -> None:
    sent = {action: fields(action, endpoint) for action in ACTIONS[1:]}
    endpoints.remove(endpoint)
    statuses = {action: manager.post(url(action, endpoint), given).status_code for action, given in sent.items()}
    assert statuses == dict.fromkeys(sent, 403)
    assert manager.get(url("edit", endpoint)).status_code == 403
    assert not staff_acts()


# Pages


def test_a_partner_s_page_shows_the_state_of_its_webhooks(endpoint: WebhookEndpoint) -> None:
    other = WebhookEndpointFactory.create(partner=endpoint.partner)
    WebhookEndpoint.objects.filter(pk=other.pk).update(disabled_reason="gone", disabled_at=timezone.now())
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(
        failing_since="2026-01-15T10:30:00Z", last_success_at="2026-01-15T09:30:00Z"
    )
    theirs = WebhookEndpointFactory.create()
    page = client_as("auditor").get(page_of(endpoint.partner)).content.decode()
    for text in (page_of(endpoint), "failing", "05:30 EST", "04:30 EST", "disabled It responded with 410 Gone"):
        assert text in page or text in words(page)
    assert page_of(theirs) not in page
    # Who only reads.
    assert not offered(page, endpoint)


def test_who_only_reads_sees_url_and_attempts_and_is_offered_no_action(endpoint: WebhookEndpoint) -> None:
    delivery = WebhookDeliveryFactory.create(
        endpoint=endpoint,
        attempts=[
            {"at": "2026-01-15T10:30:00.123456Z", "milliseconds": 37, "status": 503},
            {"at": "2026-01-15T10:30:05.123456Z", "milliseconds": 15000, "error": "timeout"},
        ],
        next_attempt_at=timezone.now() + timedelta(minutes=5),
    )
    auditor = client_as("auditor")
    pages = {path: auditor.get(path).content.decode() for path in (page_of(delivery), page_of(endpoint), DELIVERIES)}
    shown = words(pages[page_of(delivery)])
    for text in ("HTTP 503", "37 ms", "15000 ms", "Pending", str(delivery.event_uuid)):
        assert text in shown
    assert shown.index("15000 ms") < shown.index("37 ms")
    assert "a-path-of-their-own?token=tell-nobody" in pages[page_of(endpoint)]
    for path, page in pages.items():
        assert "Pending" in words(page), path
        assert not offered(page, endpoint), path
        assert "/retry/" not in page, path
        assert "data-awaited" not in page, path


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
    auditor = StaffFactory.create(role="auditor")
    found = {(name, value): list(list_of(auditor, DELIVERIES, **{name: value}).result_list) for name, value in filters}
    assert found == filters
    assert manager.get(DELIVERIES, {"endpoint__url__startswith": "https://"}).status_code == 400


# Deliveries


def test_a_test_is_a_delivery_whose_page_shows_the_result(manager: Client, endpoint: WebhookEndpoint) -> None:
    response = manager.post(url("send_test", endpoint), fields("send_test", endpoint))
    delivery = WebhookDelivery.objects.get(endpoint=endpoint)
    assert response.headers["Location"] == page_of(delivery)
    assert (delivery.type, delivery.event, delivery.state) == ("webhook.test", None, "pending")
    assert "data-awaited" in manager.get(page_of(delivery)).content.decode()
    assert staff_acts() == ["webhook.tested"]


def test_a_delivery_is_retried(manager: Client, endpoint: WebhookEndpoint) -> None:
    event, later = EventFactory.create(partner=endpoint.partner), timezone.now() + timedelta(hours=10)
    failed = WebhookDeliveryFactory.create(endpoint=endpoint, event=event, state=DeliveryState.FAILED)
    waiting = WebhookDeliveryFactory.create(endpoint=endpoint, event=event, next_attempt_at=later)
    assert "webhook-id" in manager.get(f"{DELIVERIES}{failed.pk}/retry/").content.decode()
    for delivery in (failed, waiting):
        waiting.refresh_from_db()
        assert waiting.next_attempt_at == later
        assert manager.post(f"{DELIVERIES}{delivery.pk}/retry/").headers["Location"] == page_of(delivery)
        delivery.refresh_from_db()
        assert delivery.state == "pending"
        assert delivery.next_attempt_at is not None
        assert delivery.next_attempt_at <= timezone.now()
    assert staff_acts() == ["webhook.retried"] * 2


def test_all_deliveries_of_a_webhook_are_retried_but_what_was_delivered(
    manager: Client, endpoint: WebhookEndpoint
) -> None:
    event = EventFactory.create(partner=endpoint.partner)
    other = WebhookEndpointFactory.create(partner=endpoint.partner)
    for to in (endpoint, endpoint, other):
        WebhookDeliveryFactory.create(endpoint=to, event=event, state=DeliveryState.FAILED)
    delivered = WebhookDeliveryFactory.create(endpoint=endpoint, event=event, state=DeliveryState.DELIVERED)
    response = manager.post(url("retry", endpoint))
    assert [str(one) for one in get_messages(response.wsgi_request)] == ["Deliveries that are attempted now: 2."]
    assert endpoint.deliveries.filter(state="pending").count() == 2
    assert not other.deliveries.filter(state="pending").exists()
    assert staff_acts() == ["webhook.retried"]
    assert "/retry/" not in manager.get(page_of(delivered)).content.decode()
    refused = manager.post(f"{DELIVERIES}{delivered.pk}/retry/").content.decode()
    assert "cannot be attempted again" in refused
    assert staff_acts() == ["webhook.retried"]


def test_deliveries_of_a_disabled_webhook_are_not_retried(manager: Client, endpoint: WebhookEndpoint) -> None:
    later = timezone.now() + timedelta(hours=1)
    delivery = WebhookDeliveryFactory.create(endpoint=endpoint, next_attempt_at=later)
    endpoints.change_endpoint(endpoint, enabled=False)
    for path in (f"{WEBHOOKS}{endpoint.pk}/retry/", f"{DELIVERIES}{delivery.pk}/retry/"):
        assert "The webhook is disabled." in manager.post(path).content.decode(), path
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
