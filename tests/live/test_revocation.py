"""Revoked keys and disabled partners are refused by the next request in each process."""

from datetime import timedelta

from django.utils import timezone

from partners.authentication import keys
from partners.models import ApiKey, Partner
from tests.support.client import PartnerClient

Clients = tuple[PartnerClient, PartnerClient]


def statuses(clients: Clients) -> set[int]:
    """The statuses of several requests to each process, so that each of its threads is met."""
    return {clients[n % 2].get("/v1/ping").status for n in range(8)}


def test_a_revoked_key_is_refused_from_the_next_request_on(clients: Clients, partner: Partner) -> None:
    assert statuses(clients) == {200}
    keys.revoke(partner.api_keys.get())
    assert statuses(clients) == {401}


def test_an_expired_key_is_refused(clients: Clients, partner: Partner) -> None:
    assert statuses(clients) == {200}
    ApiKey.objects.filter(partner=partner).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert statuses(clients) == {401}


def test_a_disabled_partner_is_refused_until_it_is_enabled(clients: Clients, partner: Partner) -> None:
    assert statuses(clients) == {200}
    Partner.objects.filter(pk=partner.pk).update(enabled=False)
    assert statuses(clients) == {401}
    Partner.objects.filter(pk=partner.pk).update(enabled=True)
    assert statuses(clients) == {200}
