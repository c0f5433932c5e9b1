"""Behaviour that only a real server shows: bytes of paths, bodies without a length, HEAD."""

import json
import socket
import time

import pytest

from tests import factories
from tests.slow.live.conftest import Server, clients, partner, servers
from tests.support.client import PartnerClient
from tests.support.timeouts import WAIT_SECONDS

__all__ = ("clients", "partner", "servers")
Clients = tuple[PartnerClient, PartnerClient]
Servers = tuple[Server, Server]


def exchange(server: Server, request: bytes) -> tuple[int, bytes]:
    """Sends raw bytes; the response's status and body."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_SECONDS) as connection:
        connection.sendall(request)
        response = b""
        while chunk := connection.recv(65536):
            response += chunk
    head, _, body = response.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), body


@pytest.mark.parametrize(
    ("external_id", "path"),
    [
        ("café +1~a", "caf%C3%A9%20%2B1~a"),
        ("100%", "100%25"),
        ("100%", "100%"),
        ("%FF", "%25FF"),
        ("%zz", "%zz"),
        ("a?b#c", "a%3Fb%23c"),
        ("a&b=c;d", "a&b=c;d"),
        ("日本語", "%E6%97%A5%E6%9C%AC%E8%AA%9E"),
        ("a\\b", "a%5Cb"),
    ],
)
def test_an_awkward_path_is_signed_and_understood(clients: Clients, external_id: str, path: str) -> None:
    assert clients[0].post("/v1/users", factories.user_body(externalId=external_id)).status == 201
    response = clients[0].get(f"/v1/users/{path}")
    assert (response.status, response.json()["externalId"]) == (200, external_id)


def test_an_encoded_slash_is_a_slash(clients: Clients) -> None:
    external_id = factories.user_body()["externalId"]
    clients[0].post("/v1/users", factories.user_body(externalId=external_id))
    assert clients[0].get(f"/v1/users/{external_id}%2Ftransactions").json()["items"] == []


def test_bytes_that_are_not_utf_8_are_a_bad_request(clients: Clients) -> None:
    assert clients[0].get("/v1/users/%FF").status == 400
    assert clients[0].get("/v1/ping?a=%FF").status == 400


def test_a_declared_length_over_the_limit_is_answered_before_the_body_is_sent(servers: Servers) -> None:
    request = b"POST /v1/users HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 10485760\r\n\r\n"
    status, body = exchange(servers[0], request)
    assert (status, json.loads(body)["error"]) == (413, "bad_request")


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_body_in_chunks_is_signed_like_any_other(clients: Clients, servers: Servers, method: str) -> None:
    body = factories.user_body()
    clients[0].post("/v1/users", body)
    target, data, wanted = (
        ("/v1/users", factories.user_body(), 201)
        if method == "POST"
        else (f"/v1/users/{body['externalId']}", {"city": "Ottawa"}, 200)
    )
    content = json.dumps(data).encode()
    headers = clients[0].headers(method, target, content, key=None, timestamp=None, secret=None)
    lines = [f"{method} {target} HTTP/1.1", "Host: a", "Connection: close", "Transfer-Encoding: chunked"]
    head = "\r\n".join([*lines, *(f"{k}: {v}" for k, v in headers.items()), "", ""]).encode()
    half = len(content) // 2
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in (content[:half], content[half:], b""))
    assert exchange(servers[0], head + chunks)[0] == wanted


def test_a_body_that_arrives_in_parts_is_read_whole(clients: Clients, servers: Servers) -> None:
    content = json.dumps(factories.user_body()).encode()
    headers = clients[0].headers("POST", "/v1/users", content, key=None, timestamp=None, secret=None)
    lines = ["POST /v1/users HTTP/1.1", "Host: a", "Connection: close", f"Content-Length: {len(content)}"]
    head = "\r\n".join([*lines, *(f"{k}: {v}" for k, v in headers.items()), "", ""]).encode()
    with socket.create_connection(("127.0.0.1", servers[0].port), timeout=WAIT_SECONDS) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for part in (head, content[:10], content[10:50], content[50:]):
            connection.sendall(part)
            time.sleep(0.1)  # so that they are parts for the server too
        response = connection.recv(65536)
    assert response.startswith(b"HTTP/1.1 201 ")


def test_chunks_over_the_limit_are_refused(servers: Servers) -> None:
    chunk = b"ffff\r\n" + b" " * 0xFFFF + b"\r\n"
    request = b"POST /v1/users HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    status, body = exchange(servers[0], request + chunk * 2 + b"0\r\n\r\n")
    assert (status, json.loads(body)["error"]) == (413, "bad_request")


def test_head_is_refused_without_a_body(servers: Servers) -> None:
    assert exchange(servers[0], b"HEAD /v1/ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") == (405, b"")


def test_no_answer_goes_out_in_chunks(clients: Clients) -> None:
    responses = [clients[0].get("/v1/ping"), clients[0].get("/v1/nowhere"), clients[0].get("/v1/ping", secret="wrong")]
    assert [a.status for a in responses] == [200, 404, 401]
    assert all(a.header("Content-Length") == str(len(a.body)) for a in responses)
    assert all(a.header("Transfer-Encoding") is None for a in responses)


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("Content-Length: 70000", b" " * 70_000),
        ("Transfer-Encoding: chunked", b"11170\r\n" + b" " * 70_000 + b"\r\n0\r\n\r\n"),
    ],
    ids=["length", "chunks"],
)
@pytest.mark.parametrize("target", ["/v1/users", "/v1/nowhere", "/v1/ping"])
def test_a_body_left_unread_ends_the_connection_with_the_answer(
    servers: Servers, target: str, header: str, body: bytes
) -> None:
    # Without asking for it: 70,000 bytes are too many here, and on two of these paths nobody reads them.
    request = f"POST {target} HTTP/1.1\r\nHost: a\r\n{header}\r\n\r\n".encode() + body
    with socket.create_connection(("127.0.0.1", servers[0].port), timeout=WAIT_SECONDS) as connection:
        connection.sendall(request)
        response = b""
        while chunk := connection.recv(65536):
            response += chunk
    assert b"connection: close" in response.partition(b"\r\n\r\n")[0].lower()


@pytest.mark.parametrize("name", ["X-Api-Key", "X-Request-Timestamp", "X-Request-Signature"])
def test_a_header_that_is_not_ascii_is_named_in_the_error(clients: Clients, name: str) -> None:
    response = clients[0].get("/v1/ping", headers={name: "\xe9"})
    assert (response.status, response.json()["message"]) == (401, f"Header {name} is missing or not ASCII.")
