"""Each example agrees with the published vectors, and with the service on requests that nobody thought of."""

import asyncio
import random
import uuid
from typing import Any

import httpx
import pytest

import psi
from tests import factories
from tests.examples.gateway import PREFIX, Gateway
from tests.examples.languages import (
    API_KEY,
    LANGUAGES,
    SECRET,
    VECTORS,
    Language,
    Signed,
    Workshop,
    by_the_service,
    sign_all,
    signed,
)
from tests.support.client import PartnerClient

NOT_UTF_8 = ["%FF", "%C3(", "a%E9", "%ED%A0%80", "%C0%AF", "%F4%90%80%80", "%F0%9F%A6"]

each_language = pytest.mark.parametrize("language", LANGUAGES, ids=str)


def unthought_of(count: int) -> list[Signed]:
    """Requests of odd pieces, the same in every run, and two with every ASCII character, escaped and not."""
    chance = random.Random(1)
    escaped = [f"%{byte:02x}" for byte in range(128)]
    literal = [chr(byte) for byte in range(33, 127) if chr(byte) not in "%#?"]
    odd = [
        *("%", "%4", "%zz", "%25", "+", "&", "=", "&&", "=&", "%2F", "é", "日", "🦫", "%F0%9F%A6%AB", "\\", "'", "*"),
        "?",
    ]

    def text() -> str:
        return "".join(chance.choice(chance.choice([escaped, literal, odd])) for _ in range(chance.randrange(12)))

    everything = [f"/v1/{''.join(pieces)}?{'&'.join(pieces)}" for pieces in (escaped, literal)]
    random_ones = [f"/v1/{text()}?{text()}&{text()}={text()}" for _ in range(count)]
    return [Signed("GET", target, body=text()) for target in (*everything, *random_ones, "/v1/ping?", "/v1/ping?=")]


@each_language
def test_an_example_agrees_with_every_vector(place: Workshop, language: Language) -> None:
    results = sign_all(place, language, SECRET, [signed(vector) for vector in VECTORS])
    assert {vector["id"]: found for vector, found in zip(VECTORS, results, strict=True)} == {
        vector["id"]: (vector["canonicalRequest"], vector["signature"]) for vector in VECTORS
    }


@each_language
def test_an_example_agrees_with_the_service_on_random_requests(place: Workshop, language: Language) -> None:
    requests = unthought_of(24)
    # Longer than a block of SHA-256: the HMAC's key is then its digest.
    secret = SECRET * 3
    assert list(sign_all(place, language, secret, requests)) == [by_the_service(one, secret) for one in requests]


@each_language
def test_an_example_refuses_what_is_not_utf_8(place: Workshop, language: Language) -> None:
    places = ["/v1/users/{}", "/v1/ping?a={}", "/v1/ping?{}=1", "/v1/ping?a=1&b={}"]
    targets = [places[0].format(piece) for piece in NOT_UTF_8] + [target.format("%FF") for target in places[1:]]
    requests = [Signed("GET", target) for target in targets]
    assert set(sign_all(place, language, SECRET, requests)) == {("refused", "")}


# `psi.Auth` signs what httpx sends, which is not always what it was given


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
