"""The rules of webhook endpoints and their secrets: contract, section 10."""

import base64
import socket
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from core.refusals import RefusedError
from events.models import DisabledReason, EventType, WebhookEndpoint, WebhookSecret
from events.webhooks import addresses, endpoints
from partners.models import Partner
from tests.factories import WebhookDeliveryFactory, WebhookEndpointFactory, add_endpoint
from tests.support.events import secrets_in_force

URL = "https://hooks.example.com/events"
PUBLIC, PRIVATE = "198.41.0.4", "10.0.0.1"


@pytest.fixture(autouse=True)
def hosts(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The addresses of hosts that have another than a public one."""
    addresses: dict[str, str] = {}

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (addresses.get(host, PUBLIC), port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return addresses


# Adding


def test_an_added_endpoint_is_active_and_has_a_secret(partner: Partner) -> None:
    endpoint, secret = add_endpoint(partner=partner, url=URL, description="production")
    assert (endpoint.url, endpoint.types, endpoint.description, endpoint.state) == (URL, [], "production", "active")
    assert secret.startswith("whsec_")
    assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32
    assert secrets_in_force(endpoint) == [secret]
    assert secret not in str(WebhookSecret.objects.values())


def test_a_partner_has_at_most_five(partner: Partner) -> None:
    made = WebhookEndpointFactory.create_batch(5, partner=partner)
    with pytest.raises(RefusedError, match="at most 5"):
        add_endpoint(partner=partner, url=URL)
    WebhookEndpointFactory.create()
    endpoints.remove(made[0])
    add_endpoint(partner=partner, url=URL)


def test_the_secrets_of_many_are_read_in_one_statement(
    partner: Partner, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    added = dict(add_endpoint(partner=partner, url=URL) for _ in range(3))
    with django_assert_num_queries(1):
        found = endpoints.secrets_by_endpoint({endpoint.pk for endpoint in added})
    assert found == {endpoint.pk: [secret] for endpoint, secret in added.items()}


def test_types_are_kept_once_and_in_one_order(partner: Partner) -> None:
    types = [EventType.DOCUMENT_PUBLISHED.value, EventType.STATUS_CHANGED.value, EventType.DOCUMENT_PUBLISHED.value]
    endpoint, _ = add_endpoint(partner=partner, url=URL, types=types)
    assert endpoint.types == ["user.statusChanged", "user.documentPublished"]


def test_what_is_not_valid_is_refused_by_its_field(
    endpoint: WebhookEndpoint, hosts: dict[str, str], subtests: pytest.Subtests
) -> None:
    hosts["private.example.com"] = PRIVATE
    invalid: list[dict[str, Any]] = [
        {"url": "http://hooks.example.com/"},
        {"url": "https://10.0.0.1/"},
        {"url": "https://private.example.com/"},
        {"url": ""},
        {"types": ["user.created"]},
        {"types": ["webhook.test"]},
        {"description": "a" * 201},
    ]
    for fields in invalid:
        with subtests.test(str(fields)):
            with pytest.raises(ValidationError) as added:
                add_endpoint(partner=endpoint.partner, **{"url": URL, **fields})
            if "url" not in fields:
                with pytest.raises(ValidationError) as changed:
                    endpoints.change_endpoint(endpoint, **fields)
                assert list(added.value.message_dict) == list(changed.value.message_dict) == list(fields)
            assert WebhookEndpoint.objects.get().url == endpoint.url


# Changing


def test_a_change_leaves_the_rest(endpoint: WebhookEndpoint) -> None:
    endpoints.change_endpoint(endpoint, types=["user.statusChanged"], description="staging")
    endpoints.change_endpoint(endpoint, url=addresses.checked(URL))
    endpoint.refresh_from_db()
    assert (endpoint.url, endpoint.types, endpoint.description) == (URL, ["user.statusChanged"], "staging")
    endpoints.change_endpoint(endpoint, types=[])
    endpoint.refresh_from_db()
    assert endpoint.types == []


def test_a_disabled_one_keeps_its_first_reason(endpoint: WebhookEndpoint) -> None:
    gone = {"disabled_reason": DisabledReason.GONE, "disabled_at": timezone.now()}
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(**gone)
    again = endpoints.change_endpoint(endpoint, enabled=False)
    assert (again.state, again.disabled_reason, again.disabled_at) == ("disabled", "gone", gone["disabled_at"])


def test_an_enabled_one_has_no_trace_of_its_failures(endpoint: WebhookEndpoint) -> None:
    now = timezone.now()
    failing = {"disabled_reason": DisabledReason.FAILING, "disabled_at": now, "failing_since": now}
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(**failing)
    enabled = endpoints.change_endpoint(endpoint, enabled=True)
    enabled.refresh_from_db()
    assert (enabled.state, enabled.disabled_at, enabled.failing_since) == ("active", None, None)


def test_enabling_an_active_one_skips_nothing(endpoint: WebhookEndpoint) -> None:
    due = WebhookDeliveryFactory.create(endpoint=endpoint)
    endpoints.change_endpoint(endpoint, enabled=True)
    due.refresh_from_db()
    assert due.state == "pending"


def test_a_removed_one_cannot_be_changed(endpoint: WebhookEndpoint) -> None:
    endpoints.remove(endpoint)
    removed_at = endpoint.removed_at
    endpoints.remove(endpoint)
    assert endpoint.removed_at == removed_at is not None
    for change in (endpoints.change_endpoint, endpoints.rotate_secret):
        with pytest.raises(WebhookEndpoint.DoesNotExist):
            change(endpoint)
    with pytest.raises(WebhookEndpoint.DoesNotExist):
        endpoints.find_endpoint(str(endpoint.pk))


def test_an_unknown_id_is_not_found(endpoint: WebhookEndpoint) -> None:
    for webhook_id in ("", "1", "11111111-1111-1111-1111-111111111111", "\0"):
        with pytest.raises((WebhookEndpoint.DoesNotExist, ValidationError)):
            endpoints.find_endpoint(webhook_id)


# Secrets


def test_in_an_overlap_all_secrets_are_in_force_newest_first(endpoint: WebhookEndpoint) -> None:
    [first] = secrets_in_force(endpoint)
    second = endpoints.rotate_secret(endpoint)
    third = endpoints.rotate_secret(endpoint, timedelta(hours=1))
    assert secrets_in_force(endpoint) == [third, second, first]


def test_a_rotation_never_lengthens_an_overlap(endpoint: WebhookEndpoint) -> None:
    endpoints.rotate_secret(endpoint, timedelta(hours=1))
    endpoints.rotate_secret(endpoint, timedelta(hours=48))
    now = timezone.now()
    newest, rotated, oldest = endpoints.secrets_of(endpoint)
    assert newest.expires_at is None
    assert rotated.expires_at is not None
    assert oldest.expires_at is not None
    assert timedelta(hours=47) < rotated.expires_at - now <= timedelta(hours=48)
    assert oldest.expires_at - now <= timedelta(hours=1)


def test_without_an_overlap_only_the_new_secret_is_in_force(endpoint: WebhookEndpoint) -> None:
    endpoints.rotate_secret(endpoint)
    new = endpoints.rotate_secret(endpoint, timedelta())
    assert secrets_in_force(endpoint) == [new]
    endpoints.rotate_secret(endpoint)
    assert endpoint.secrets.count() == 2


def test_a_secret_whose_overlap_has_ended_is_not_in_force(endpoint: WebhookEndpoint) -> None:
    new = endpoints.rotate_secret(endpoint)
    endpoint.secrets.exclude(expires_at=None).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert secrets_in_force(endpoint) == [new]


@pytest.mark.parametrize("hours", [-1, 24 * 7 + 1])
def test_an_overlap_has_bounds(hours: int, endpoint: WebhookEndpoint) -> None:
    with pytest.raises(ValidationError, match="from 0 to 168 hours"):
        endpoints.rotate_secret(endpoint, timedelta(hours=hours))
    assert endpoint.secrets.count() == 1


def test_secrets_in_force_are_few(endpoint: WebhookEndpoint) -> None:
    for _ in range(4):
        endpoints.rotate_secret(endpoint)
    with pytest.raises(RefusedError, match="5 secrets are in force"):
        endpoints.rotate_secret(endpoint)
    assert len(secrets_in_force(endpoint)) == 5
    new = endpoints.rotate_secret(endpoint, timedelta())
    assert secrets_in_force(endpoint) == [new]


def test_a_secret_that_cannot_be_decrypted_signs_nothing(endpoint: WebhookEndpoint) -> None:
    new = endpoints.rotate_secret(endpoint)
    endpoint.secrets.exclude(expires_at=None).update(encrypted_secret="lost")
    assert secrets_in_force(endpoint) == [new]
