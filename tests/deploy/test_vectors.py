"""What the published vectors sign passes the proxy unchanged: their requests, signed at the present time."""

from dataclasses import replace
from typing import Any

import pytest

from tests.deploy.asking import comparable, over_tls
from tests.deploy.proxy import Proxy
from tests.examples.published import VECTORS, by_the_service, signed, target
from tests.support.client import Headers, PartnerClient, Response, Transport, now
from tests.support.responses import assert_error

# nginx responds to these itself: no setting makes it pass on a path with a malformed escape.
REFUSED_BY_THE_PROXY = {"path-malformed-escape"}
PASSED_ON = [vector for vector in VECTORS if vector["id"] not in REFUSED_BY_THE_PROXY]


def headers_of(vector: dict[str, Any], client: PartnerClient) -> Headers:
    """The headers of a vector's request, signed now by this client."""
    request = replace(signed(vector), timestamp=now())
    _canonical, signature = by_the_service(request, client.secret)
    headers = {"X-Api-Key": client.api_key, "X-Request-Timestamp": request.timestamp, "X-Request-Signature": signature}
    key = {"Idempotency-Key": request.key} if request.key else {}
    return {**headers, **key, "Content-Type": "application/json"}


def send(transport: Transport, vector: dict[str, Any], headers: Headers) -> Response:
    return transport(vector["method"], target(vector), headers, vector["body"].encode())


@pytest.mark.parametrize("vector", PASSED_ON, ids=lambda vector: vector["id"])
def test_a_request_of_a_vector_keeps_its_signature(proxy: Proxy, direct: PartnerClient, vector: dict[str, Any]) -> None:
    headers = headers_of(vector, direct)
    response = send(over_tls(proxy), vector, headers)
    assert response.status in {200, 201, 400, 404}, response.body
    assert response.header("RateLimit")
    if vector["method"] == "GET":
        assert comparable(response) == comparable(send(direct.transport, vector, headers))


def test_a_path_with_a_malformed_escape_is_a_bad_request_of_the_proxy(proxy: Proxy, direct: PartnerClient) -> None:
    vectors = [vector for vector in VECTORS if vector["id"] in REFUSED_BY_THE_PROXY]
    assert [vector["id"] for vector in vectors] == list(REFUSED_BY_THE_PROXY)
    for vector in vectors:
        response = send(over_tls(proxy), vector, headers_of(vector, direct))
        assert assert_error(response, 400)["fieldErrors"] == []
