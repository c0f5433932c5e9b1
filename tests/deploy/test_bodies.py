"""Request bodies through the proxy: large, chunked, slow."""

import json
from contextlib import ExitStack

import pytest

from config.serve import THREADS
from tests import factories
from tests.deploy.asking import ask, comparable, head, over_tls
from tests.deploy.proxy import Proxy, running
from tests.slow.live.conftest import Server
from tests.support.client import PartnerClient
from tests.support.responses import assert_error

LIMIT = 64 * 1024


def signed(client: PartnerClient, method: str, target: str, body: bytes) -> dict[str, str]:
    return client.headers(method, target, body, key=None, timestamp=None, secret=None)


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [*pieces, b""])


def head_of_chunks(method: str, target: str, headers: dict[str, str]) -> bytes:
    return head(method, target, headers | {"Transfer-Encoding": "chunked"}).replace(b"Content-Length: 0\r\n", b"")


def padded(length: int) -> bytes:
    body = json.dumps(factories.user_body()).encode()
    return body + b" " * (length - len(body))


@pytest.mark.parametrize(("length", "status"), [(LIMIT, 201), (LIMIT + 1, 413), (2 * LIMIT, 413)])
def test_the_body_limit_is_that_of_the_service(
    through: PartnerClient, direct: PartnerClient, length: int, status: int
) -> None:
    response = through.post("/v1/users", padded(length))
    assert response.status == status, response.body
    if status != 201:
        assert comparable(response) == comparable(direct.post("/v1/users", padded(length)))


def test_a_much_larger_body_is_refused_by_the_proxy_before_it_is_sent(proxy: Proxy, direct: PartnerClient) -> None:
    with proxy.connected() as connection:
        request = head("POST", "/v1/users", {"Content-Length": str(10 * 1024 * 1024)})
        request = request.replace(b"Content-Length: 0\r\n", b"")
        response = ask(connection, request)
    assert assert_error(response, 413) | {"requestId": ""} == (
        assert_error(direct.post("/v1/users", padded(LIMIT + 1)), 413) | {"requestId": ""}
    )


def test_endless_chunks_are_refused(proxy: Proxy) -> None:
    with proxy.connected() as connection:
        endless = chunked(b" " * 3 * LIMIT, 0x4000).removesuffix(b"0\r\n\r\n")
        response = ask(connection, head_of_chunks("POST", "/v1/users", {}) + endless, method="POST")
    assert_error(response, 413)


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_a_body_in_chunks_is_signed_like_any_other(proxy: Proxy, through: PartnerClient, size: int) -> None:
    body = json.dumps(factories.user_body()).encode()
    with proxy.connected() as connection:
        request = head_of_chunks("POST", "/v1/users", signed(through, "POST", "/v1/users", body))
        assert ask(connection, request + chunked(body, size), method="POST").status == 201


def test_expect_100_continue_is_answered(proxy: Proxy, through: PartnerClient) -> None:
    body = json.dumps(factories.user_body()).encode()
    with proxy.connected() as connection:
        headers = signed(through, "POST", "/v1/users", body) | {"Expect": "100-continue"}
        connection.sendall(head("POST", "/v1/users", headers, body))
        assert connection.recv(1024) == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert ask(connection, body, method="POST").status == 201


def test_slow_clients_occupy_no_thread_of_the_service(
    nginx: str, servers: tuple[Server, Server], direct: PartnerClient
) -> None:
    with running(nginx, [server.port for server in servers], timeless=True) as proxy, ExitStack() as stack:
        client = PartnerClient(direct.api_key, direct.secret, over_tls(proxy))
        body = b" " * 1000
        # More than both servers have threads, each with half a body sent; with signatures, as few others may pass.
        for _ in range(4 * THREADS):
            connection = stack.enter_context(proxy.connected())
            headers = signed(client, "POST", "/v1/users", body)
            connection.sendall(head("POST", "/v1/users", headers, body) + body[:500])
        assert [client.get("/v1/ping").status for _ in range(10)] == [200] * 10


def test_bodies_are_not_buffered_in_files(nginx: str, servers: tuple[Server, Server], direct: PartnerClient) -> None:
    with running(nginx, [servers[0].port]) as proxy:
        # A body that did not fit would have to be written here.
        (proxy.folder / "client_body").chmod(0)
        client = PartnerClient(direct.api_key, direct.secret, over_tls(proxy))
        assert client.post("/v1/users", padded(LIMIT)).status == 201
