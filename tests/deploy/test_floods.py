"""Floods are limited by address, in the contract's form; other clients are not."""

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from partners.models import Partner
from tests import factories
from tests.deploy.asking import ask, direct_transport, head, over_tls
from tests.deploy.proxy import Proxy, running
from tests.slow.live.conftest import Server
from tests.support.client import PartnerClient, Response, Transport
from tests.support.responses import assert_error
from tests.support.staff import client_as
from tests.support.watched import wait_until

# Bursts of service.conf: so many pass at once, after a first one.
UNSIGNED_BURST, PAGES_BURST, LOGIN_BURST, STATIC_BURST = 20, 100, 20, 1000
# The limit of limits.conf.
CONNECTIONS = 200
LIKE_SIGNED = {
    "X-Api-Key": "psi_key_made_up",
    "X-Request-Timestamp": "2026-01-15T10:30:00Z",
    "X-Request-Signature": "0" * 64,
}


@pytest.fixture
def proxy(nginx: str, servers: tuple[Server, Server]) -> Iterator[Proxy]:
    """A proxy with fresh counters, which do not go down while a test asks."""
    with running(nginx, [server.port for server in servers], timeless=True) as proxy:
        yield proxy


@pytest.fixture
def client(servers: tuple[Server, Server], partner: Partner, proxy: Proxy) -> PartnerClient:
    made = factories.client_of(partner, direct_transport(servers[0].port))
    return PartnerClient(made.api_key, made.secret, over_tls(proxy))


def flood(way: Transport, target: str, times: int, *, method: str = "GET") -> list[Response]:
    return [way(method, target, {}, b"") for _ in range(times)]


def assert_too_many(response: Response) -> None:
    assert assert_error(response, 429)["error"] == "too_many_requests"
    assert int(response.header("Retry-After") or 0) >= 1


def test_a_flood_of_unsigned_requests_does_not_affect_signed_ones_of_the_same_address(
    proxy: Proxy, client: PartnerClient
) -> None:
    responses = flood(over_tls(proxy), "/v1/users", 3 * UNSIGNED_BURST, method="POST")
    passed = UNSIGNED_BURST + 1
    assert Counter(response.status for response in responses) == {401: passed, 429: len(responses) - passed}
    assert_too_many(responses[-1])
    assert [client.get("/v1/ping").status for _ in range(30)] == [200] * 30


def test_unsigned_requests_of_another_address_are_answered(proxy: Proxy) -> None:
    assert_too_many(flood(over_tls(proxy), "/v1/ping", 2 * UNSIGNED_BURST)[-1])
    assert flood(over_tls(proxy, address="127.0.0.2"), "/v1/ping", 1)[0].status == 401


def test_a_forged_client_address_is_ignored(proxy: Proxy) -> None:
    way = over_tls(proxy)
    responses = [way("GET", "/v1/ping", {"X-Forwarded-For": f"192.0.2.{n}"}, b"") for n in range(2 * UNSIGNED_BURST)]
    assert_too_many(responses[-1])


@pytest.mark.parametrize(
    ("headers", "statuses"),
    [
        ({}, {401, 429}),
        ({"X-Api-Key": "made-up"}, {401, 429}),
        ({"X-Api-Key": "psi_key_made_up", "X-Request-Timestamp": "2026-01-15T10:30:00Z"}, {401, 429}),
        ({"X-Api-Key": "psi_key_made_up", "X-Request-Signature": "0" * 64}, {401, 429}),
        (LIKE_SIGNED, {401}),
        (LIKE_SIGNED | {"X-Api-Key": "psi_test_key_made_up"}, {401}),
    ],
)
def test_requests_with_all_signature_headers_reach_the_service(
    proxy: Proxy, headers: dict[str, str], statuses: set[int]
) -> None:
    with proxy.connected() as connection:
        found = {ask(connection, head("GET", "/v1/ping", headers)).status for _ in range(2 * UNSIGNED_BURST)}
    assert found == statuses


def test_addresses_of_an_ipv6_network_share_a_limit(proxy: Proxy) -> None:
    for number in range(2 * UNSIGNED_BURST):
        last = over_tls(proxy, spoken_for=f"2001:db8:1:2::{number:x}")("GET", "/v1/ping", {}, b"")
    assert_too_many(last)
    others = [over_tls(proxy, spoken_for=there) for there in ("2001:db8:1:3::1", "198.51.100.7", "198.51.100.8")]
    assert [way("GET", "/v1/ping", {}, b"").status for way in others] == [401] * 3


@pytest.mark.parametrize(
    ("target", "method", "burst"), [("/docs/", "GET", PAGES_BURST), ("/admin/account/login/", "POST", LOGIN_BURST)]
)
def test_pages_are_limited_with_a_readable_message(proxy: Proxy, target: str, method: str, burst: int) -> None:
    with proxy.connected() as connection:
        responses = [ask(connection, head(method, target, {}), method=method) for _ in range(burst + 10)]
    refused = [response for response in responses if response.status == 429]
    assert len(refused) == 9
    assert (refused[0].header("Content-Type"), refused[0].header("Retry-After")) == ("text/plain", "2")
    assert b"Too many requests" in refused[0].body


def test_too_many_connections_of_an_address_are_refused(proxy: Proxy) -> None:
    way = over_tls(proxy)
    with ExitStack() as stack:

        def hold(count: int) -> None:
            """Begin requests, and send nothing of their bodies."""
            for _ in range(count):
                connection = stack.enter_context(proxy.connected())
                connection.sendall(head("POST", "/v1/users", LIKE_SIGNED, b" " * 100))

        hold(CONNECTIONS - 1)
        assert way("GET", "/v1/ping", LIKE_SIGNED, b"").status == 401
        # The request before may not have ended.
        hold(2)
        wait_until(lambda: way("GET", "/v1/ping", LIKE_SIGNED, b"").status == 429)
        assert_too_many(way("GET", "/v1/ping", LIKE_SIGNED, b""))


OFFICE_BROWSERS = 8


@pytest.mark.django_db
def test_fresh_browsers_of_one_office_get_all_that_their_pages_need(proxy: Proxy) -> None:
    page = client_as("superuser").get("/admin/users/user/queue/").content.decode()
    files = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
    assert len(files) > 20

    def open_pages(_browser: int) -> Counter[int]:
        with proxy.connected() as connection:
            targets = ["/admin/account/login/", "/admin/users/user/queue/", *files]
            statuses = Counter(ask(connection, head("GET", target, {})).status for target in targets)
            statuses[ask(connection, head("POST", "/admin/account/login/", {}), method="POST").status] += 1
            return statuses

    with ThreadPoolExecutor(OFFICE_BROWSERS) as browsers:
        found = sum(browsers.map(open_pages, range(OFFICE_BROWSERS)), Counter[int]())
    # The page redirects to the login; a POST without a token is refused by the service.
    assert found == Counter({200: (len(files) + 1) * OFFICE_BROWSERS, 302: OFFICE_BROWSERS, 403: OFFICE_BROWSERS})


def test_a_flood_of_static_files_is_limited_and_leaves_the_login_alone(proxy: Proxy) -> None:
    request, statuses = head("GET", "/static/backoffice/icon.svg", {}), Counter[int]()
    # nginx closes a connection after a thousand requests.
    for times in (STATIC_BURST // 2, STATIC_BURST // 2 + 10):
        with proxy.connected() as connection:
            statuses += Counter(ask(connection, request).status for _ in range(times))
    assert statuses == {200: STATIC_BURST + 1, 429: 9}
    assert over_tls(proxy)("GET", "/admin/account/login/", {}, b"").status == 200
