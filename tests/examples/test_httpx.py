"""`psi.Auth` signs what httpx sends, which is not always what it was given."""

import asyncio
import uuid
from typing import Any

import httpx
import pytest

import psi
from tests import factories
from tests.examples.gateway import PREFIX, Gateway
from tests.examples.languages import Signed
from tests.examples.published import API_KEY, SECRET, VECTORS, by_the_service, signed
from tests.support.client import PartnerClient


@pytest.fixture
def options(client: PartnerClient, gateway: Gateway) -> dict[str, Any]:
    """What a client of the gateway is made with."""
    return {"base_url": gateway.url, "auth": psi.Auth(client.api_key, client.secret, prefix=f"{PREFIX}/")}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_a_request_is_signed_like_every_vector(vector: dict[str, Any]) -> None:
    given = signed(vector)
    request = httpx.Request(
        given.method,
        f"https://partners.example{PREFIX}{given.target}",
        headers={"Idempotency-Key": given.key} if given.key else {},
        content=given.body.encode(),
    )
    next(psi.Auth(API_KEY, SECRET, prefix=PREFIX).auth_flow(request))
    sent = Signed(given.method, given.target, request.headers["X-Request-Timestamp"], given.key, given.body)
    assert request.headers["X-Request-Signature"] == by_the_service(sent, SECRET)[1]
    assert request.headers["X-Api-Key"] == API_KEY


def test_what_is_not_utf_8_is_refused() -> None:
    with pytest.raises(UnicodeError):
        next(psi.Auth(API_KEY, SECRET).auth_flow(httpx.Request("GET", "https://partners.example/v1/users/caf%E9")))


def test_a_client_is_authenticated(options: dict[str, Any]) -> None:
    body, key = factories.user_body(externalId="zoë +1", firstName="Zoë"), str(uuid.uuid4())
    with httpx.Client(**options) as client:
        created = client.post("/v1/users", json=body, headers={"Idempotency-Key": key})
        listed = client.get("/v1/users/zoë +1/transactions", params={"limit": 50, "b": "x/y z", "a": "é+1"})
        changed = client.patch("/v1/users/zo%C3%AB%20%2B1", json={"city": "Montréal"})
    assert [response.status_code for response in (created, listed, changed)] == [201, 200, 200]


def test_an_asynchronous_client_is_authenticated(options: dict[str, Any]) -> None:
    async def post() -> httpx.Response:
        async with httpx.AsyncClient(**options) as client:
            return await client.post("/v1/users", json=factories.user_body())

    assert asyncio.run(post()).status_code == 201
