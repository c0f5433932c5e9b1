"""Paths and queries that proxies tend to normalize: responses are the same with and without the proxy."""

import pytest

from tests import factories
from tests.deploy.asking import ask, comparable, head, over_tls
from tests.deploy.proxy import Proxy
from tests.support.client import PartnerClient
from tests.support.responses import assert_error

EXTERNAL_IDS = {
    "caf%C3%A9%20%2B1~a": "café +1~a",
    "100%25": "100%",
    "%25FF": "%FF",
    "%252e%252E": "%2e%2E",
    "a%3Fb%23c": "a?b#c",
    "a&b=c;d,e": "a&b=c;d,e",
    "%E6%97%A5%E6%9C%AC%E8%AA%9E": "日本語",
    "a%5Cb": "a\\b",
    "a..b": "a..b",
    ".html": ".html",
}
# None of them leads to a user.
TARGETS = [
    "/v1/ping?",
    "/v1/ping?&&a=1&",
    "/v1/ping?a=%zz&b=100%",
    "/v1/ping?a=%2F..%2F&b=/../",
    "/v1/ping?a=%FF",
    "/v1/ping?a=b?c=d",
    "/v1/ping?x=%00",
    "/v1/ping/",
    "/v1/ping//",
    "/v1//ping",
    "//v1/ping",
    "/v1/./ping",
    "/v1/users/../ping",
    "/v1/users/..",
    "/v1/users/.",
    "/v1/users/%2e%2e",
    "/v1/users/%2E%2E/ping",
    "/v1/users//transactions",
    "/v1/users/a%2Ftransactions",
    "/v1/users/a%2F%2Ftransactions",
    "/v1/users/a%2f..%2f..%2fping",
    "/v1/users/%FF",
    "/v1/users/%0A",
    "/v1/users/a%0D%0Ab",
    "/v1/users/a%07",
    "/v1/users/%20a",
    "/v1/users/;a=b,c",
    "/v1/users/nobody.html",
    "/v1/users/nobody.php/transactions?limit=5;cursor=1",
    "/v1/%70ing",
    "/v1%2Fping",
    "/v1/ping%3Fa=1",
    "/v1",
    "/v1/",
    "/v1x/ping",
    "/V1/ping",
    "/v1/users/" + "%F0%9F%A6%AB" * 128,
    "/v1/users/" + "a" * 6000,
]
# nginx cannot read them, and answers by itself (the contract leaves that to the server); only the first two would
# lead somewhere.
UNREADABLE = ["/v1/users/100%", "/v1/users/%zz", "/v1/users/a%00", "/v1/users/../../../ping", "/v1/" + "a" * 20_000]


@pytest.mark.parametrize("path", EXTERNAL_IDS)
def test_an_unusual_external_id_reaches_its_user(through: PartnerClient, path: str) -> None:
    created = through.post("/v1/users", factories.user_body(externalId=EXTERNAL_IDS[path]))
    assert created.status == 201, created.body
    response = through.get(f"/v1/users/{path}")
    assert (response.status, response.json()["externalId"]) == (200, EXTERNAL_IDS[path])
    assert through.get(created.header("Location") or "").body == response.body


@pytest.mark.parametrize("method", ["GET", "PATCH"])
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target[:40])
def test_responses_are_the_same_with_and_without_the_proxy(
    through: PartnerClient, direct: PartnerClient, method: str, target: str
) -> None:
    data = None if method == "GET" else {"city": "Ottawa"}
    assert comparable(through.send(method, target, data)) == comparable(direct.send(method, target, data))


@pytest.mark.parametrize("target", UNREADABLE, ids=lambda target: target[:40])
def test_a_path_that_nginx_cannot_parse_is_a_bad_request(through: PartnerClient, target: str) -> None:
    response = through.get(target)
    assert assert_error(response, 400)["fieldErrors"] == []


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "DELETE", "PUT", "TRACE", "PROPFIND", "get"])
@pytest.mark.parametrize("target", ["/v1/ping", "/v1/users", "/v1/nowhere"])
def test_a_method_is_refused_as_without_the_proxy(
    through: PartnerClient, direct: PartnerClient, method: str, target: str
) -> None:
    response = through.send(method, target)
    if method == "get":
        # nginx reads methods in capitals alone.
        assert assert_error(response, 400)
    else:
        assert comparable(response) == comparable(direct.send(method, target))


def test_letter_case_of_headers_does_not_matter(proxy: Proxy, through: PartnerClient) -> None:
    signed = through.headers("GET", "/v1/ping", b"", key=None, timestamp=None, secret=None)
    for change in (str.upper, str.lower):
        with proxy.connected() as connection:
            request = head("GET", "/v1/ping", {change(name): value for name, value in signed.items()})
            assert ask(connection, request).status == 200


def test_a_header_with_underscores_does_not_replace_a_signed_one(proxy: Proxy, through: PartnerClient) -> None:
    signed = through.headers("GET", "/v1/ping", b"", key=None, timestamp=None, secret=None)
    with proxy.connected() as connection:
        assert ask(connection, head("GET", "/v1/ping", signed | {"X_Api_Key": "another"})).status == 200


@pytest.mark.parametrize("name", ["X-Api-Key", "X-Request-Timestamp", "X-Request-Signature", "Idempotency-Key"])
def test_a_header_sent_twice_is_refused_as_without_the_proxy(
    through: PartnerClient, direct: PartnerClient, name: str
) -> None:
    twice = {"headers": {name.lower(): "second"}, "key": "3f1c2b7e-8d4a-4c55-9b1e-6a7f0e2d9c10"}
    response = through.get("/v1/ping", **twice)
    assert response.status == 401
    assert comparable(response) == comparable(direct.get("/v1/ping", **twice))


def test_many_requests_go_over_one_connection(proxy: Proxy, through: PartnerClient) -> None:
    with proxy.connected() as connection:
        for _ in range(50):
            signed = through.headers("GET", "/v1/ping", b"", key=None, timestamp=None, secret=None)
            assert ask(connection, head("GET", "/v1/ping", signed)).status == 200


def test_two_signatures_do_not_depend_on_the_address(proxy: Proxy, direct: PartnerClient) -> None:
    client = PartnerClient(direct.api_key, direct.secret, over_tls(proxy, address="127.0.0.77"))
    assert client.get("/v1/ping").status == 200
