"""The published signing vectors through the proxy, with the service's clock set."""

from collections.abc import Iterator
from typing import Any

import pytest

from partners import encryption
from partners.authentication import keys
from partners.models import ApiKey
from tests import factories
from tests.deploy import clocked
from tests.deploy.asking import comparable, direct_transport, over_tls
from tests.deploy.proxy import Proxy, running
from tests.examples.published import API_KEY, REFUSED, SECRET, VECTORS, target
from tests.live.conftest import production
from tests.support.client import Headers, Response, Transport
from tests.support.responses import assert_error

# nginx answers these itself: no setting makes it pass on a path with a malformed escape.
REFUSED_BY_THE_PROXY = {"path-malformed-escape"}
PASSED_ON = [vector for vector in VECTORS if vector["id"] not in REFUSED_BY_THE_PROXY]
UNSIGNED_BURST = 20


@pytest.fixture(scope="module")
def port(django_db_setup: None, django_db_blocker: Any) -> Iterator[int]:
    """The port of a service with the published key and the requests' time."""
    with django_db_blocker.unblock():
        ApiKey.objects.create(
            partner=factories.PartnerFactory.create(slug="published"),
            prefix=API_KEY[: len("psi_key_") + keys.VISIBLE_CHARACTERS],
            digest=keys.digest(API_KEY),
            encrypted_secret=encryption.encrypt(SECRET, purpose=encryption.API_SECRETS),
        )
    with clocked.serving(production()) as port:
        yield port


@pytest.fixture(scope="module")
def proxy(nginx: str, port: int) -> Iterator[Proxy]:
    with running(nginx, [port]) as proxy:
        yield proxy


def headers_of(vector: dict[str, Any]) -> Headers:
    key = {"Idempotency-Key": vector["idempotencyKey"]} if vector["idempotencyKey"] else {}
    return {
        "X-Test-Now": vector["timestamp"],
        "X-Api-Key": API_KEY,
        "X-Request-Timestamp": vector["timestamp"],
        "X-Request-Signature": vector.get("signatureAsSent", vector["signature"]),
        "Content-Type": "application/json",
        **key,
    }


def send(way: Transport, vector: dict[str, Any], headers: Headers) -> Response:
    return way(vector["method"], target(vector), headers, vector["body"].encode())


@pytest.mark.parametrize("vector", PASSED_ON, ids=lambda vector: vector["id"])
def test_a_valid_vector_is_accepted(proxy: Proxy, port: int, vector: dict[str, Any]) -> None:
    answer = send(over_tls(proxy), vector, headers_of(vector))
    assert answer.status in {200, 201, 400, 404}, answer.body
    assert answer.header("RateLimit")
    if vector["method"] == "GET":
        assert comparable(answer) == comparable(send(direct_transport(port), vector, headers_of(vector)))


@pytest.mark.parametrize("number", range(len(REFUSED)), ids=[entry["id"] for entry in REFUSED])
def test_an_invalid_vector_is_refused(proxy: Proxy, port: int, number: int) -> None:
    entry = REFUSED[number]
    headers = entry["headers"] | {"X-Test-Now": entry["now"]}
    # From a few addresses, since the proxy counts what is not signed.
    answer = send(over_tls(proxy, address=f"127.0.0.{2 + number // (UNSIGNED_BURST // 2)}"), entry, headers)
    assert assert_error(answer, entry["status"])["error"] == entry["error"]
    assert comparable(answer) == comparable(send(direct_transport(port), entry, headers))


def test_a_path_with_a_malformed_escape_is_a_bad_request_of_the_proxy(proxy: Proxy) -> None:
    vectors = [vector for vector in VECTORS if vector["id"] in REFUSED_BY_THE_PROXY]
    assert [vector["id"] for vector in vectors] == list(REFUSED_BY_THE_PROXY)
    for vector in vectors:
        answer = send(over_tls(proxy), vector, headers_of(vector))
        assert assert_error(answer, 400)["fieldErrors"] == []
