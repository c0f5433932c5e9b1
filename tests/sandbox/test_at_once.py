"""Simultaneous requests for a sandbox partner's own webhooks and keys: committed rows, and a connection each."""

from collections.abc import Callable
from unittest.mock import Mock

import pytest

from events.models import WebhookEndpoint
from events.webhooks import addresses, endpoints
from partners.authentication import keys
from partners.models import ApiKey, Partner
from sandbox import webhook_views
from tests import factories
from tests.support.at_once import at_once
from tests.support.client import PartnerClient, Response
from tests.support.timeouts import WAIT_SECONDS

WEBHOOKS = "/v1/sandbox/webhooks"
BODY = {"url": "https://hooks.example.com/events"}


@pytest.fixture
def client(committed_sandbox: PartnerClient, monkeypatch: pytest.MonkeyPatch) -> PartnerClient:
    monkeypatch.setattr(addresses, "_look_up", lambda *_: Mock(result=lambda _: []))
    # A busy machine may be slow.
    monkeypatch.setattr(webhook_views, "WAIT_SECONDS", WAIT_SECONDS)
    return committed_sandbox


def statuses(count: int, request: Callable[[], Response]) -> list[int]:
    """The statuses of requests that begin together, sorted."""
    return sorted(at_once(count, lambda _: request().status))


def partner_of(client: PartnerClient) -> Partner:
    return keys.find(client.api_key).partner


def test_two_sixth_webhooks_at_once_make_no_six(client: PartnerClient) -> None:
    partner = partner_of(client)
    factories.WebhookEndpointFactory.create_batch(4, partner=partner)
    assert statuses(4, lambda: client.post(WEBHOOKS, BODY)) == [201, 409, 409, 409]
    assert endpoints.endpoints_of(partner).count() == 5


def test_one_of_two_removals_at_once_finds_the_webhook(client: PartnerClient) -> None:
    webhook = factories.WebhookEndpointFactory.create(partner=partner_of(client))
    assert statuses(3, lambda: client.send("DELETE", f"{WEBHOOKS}/{webhook.pk}")) == [200, 404, 404]
    assert WebhookEndpoint.objects.get(pk=webhook.pk).removed_at


def test_one_of_two_rotations_at_once_without_an_overlap_ends_the_key(client: PartnerClient) -> None:
    partner = partner_of(client)
    rotate = "/v1/sandbox/api-keys/rotate"
    assert statuses(2, lambda: client.post(rotate, {"overlapHours": 0})) == [201, 401]
    assert ApiKey.objects.filter(partner=partner).count() == 2


def test_of_two_keys_that_revoke_each_other_at_once_one_stays(client: PartnerClient) -> None:
    issued = keys.issue(partner=partner_of(client))
    other = PartnerClient(issued.api_key, issued.secret, client.transport)
    requests = iter([(client, issued.record.prefix), (other, keys.find(client.api_key).prefix)])

    def revoke() -> Response:
        signer, prefix = next(requests)
        return signer.send("DELETE", f"/v1/sandbox/api-keys/{prefix}")

    assert statuses(2, revoke) == [200, 401]
    assert [one.is_in_force for one in ApiKey.objects.filter(partner=partner_of(client))].count(True) == 1
