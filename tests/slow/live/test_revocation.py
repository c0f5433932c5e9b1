"""Revoked keys and disabled partners are refused by the next request in each process."""

from collections.abc import Callable

import pytest

from partners.authentication import keys
from partners.models import Partner
from tests.support.client import PartnerClient

Clients = tuple[PartnerClient, PartnerClient]


def statuses(clients: Clients) -> set[int]:
    """The statuses of several requests to each process, so that each of its threads is met."""
    return {clients[n % 2].get("/v1/ping").status for n in range(8)}


@pytest.mark.parametrize(
    "withdraw",
    [
        lambda partner: keys.revoke(partner.api_keys.get()),
        lambda partner: Partner.objects.filter(pk=partner.pk).update(enabled=False),
    ],
    ids=["key revoked", "partner disabled"],
)
def test_a_key_is_refused_from_the_next_request_on(
    clients: Clients, partner: Partner, withdraw: Callable[[Partner], object]
) -> None:
    assert statuses(clients) == {200}
    withdraw(partner)
    assert statuses(clients) == {401}
