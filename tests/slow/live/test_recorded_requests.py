"""The requests of a sandbox partner, recorded by running services: contract, section 11."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from partners.models import Mode, Partner
from tests import factories
from tests.slow.live.conftest import Server
from tests.support.client import PartnerClient

REQUESTS = "/v1/sandbox/requests?limit=100"


@pytest.fixture
def committed_sandbox(django_db_setup: None, django_db_blocker: Any) -> Iterator[Partner]:
    """A sandbox partner that the services see."""
    with django_db_blocker.unblock():
        yield factories.PartnerFactory.create(slug=f"recorded-{secrets.token_hex(8)}", mode=Mode.SANDBOX)


@pytest.fixture
def clients(servers: tuple[Server, Server], committed_sandbox: Partner) -> tuple[PartnerClient, PartnerClient]:
    """A client of each server, with one key."""
    first = factories.client_of(committed_sandbox, servers[0].transport)
    return first, PartnerClient(first.api_key, first.secret, servers[1].transport)


def ids(client: PartnerClient) -> list[str]:
    return [one["requestId"] for one in client.get(REQUESTS).json()["items"]]


def test_requests_to_any_process_are_in_one_list(clients: tuple[PartnerClient, PartnerClient]) -> None:
    sent = [clients[number % 2].get("/v1/ping").header("X-Request-Id") for number in range(10)]
    sent.append(clients[0].get("/v1/ping", secret="another").header("X-Request-Id"))
    assert ids(clients[0]) == ids(clients[1]) == sent[::-1]
