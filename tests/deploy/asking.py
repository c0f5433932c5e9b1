"""Requests to the proxy and directly to the service, and the comparison of their responses."""

import http.client
import json
import socket
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from tests.deploy.proxy import NAME, Proxy
from tests.support.client import Headers, Response, Transport
from tests.support.timeouts import WAIT_SECONDS

# Each response has its own: when, by which connection, under which id, after how many others.
OWN_HEADERS = {"connection", "date", "keep-alive", "server", "x-request-id", "ratelimit"}


def over_tls(proxy: Proxy, *, address: str = "127.0.0.1", spoken_for: str | None = None) -> Transport:
    """Return a transport to the proxy, with a connection for each request."""

    def transport(method: str, target: str, headers: Headers, body: bytes) -> Response:
        with proxy.connected(address=address, spoken_for=spoken_for) as connection:
            return ask(connection, head(method, target, headers, body) + body, method=method)

    return transport


def direct_transport(port: int) -> Transport:
    """Return a transport to the service, with the proxy's headers."""

    def transport(method: str, target: str, headers: Headers, body: bytes) -> Response:
        with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as connection:
            said = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "127.0.0.1"}
            return ask(connection, head(method, target, headers | said, body) + body, method=method)

    return transport


def head(method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """Return a request's head, unchanged."""
    fields = [f"{name}: {value}" for name, value in headers.items()]
    length = [f"Content-Length: {len(body)}"] if body or method in {"POST", "PATCH"} else []
    return "\r\n".join([f"{method} {target} HTTP/1.1", f"Host: {NAME}", *fields, *length, "", ""]).encode()


def ask(connection: Any, request: bytes, *, method: str = "GET") -> Response:
    """Send raw bytes; return the response."""
    connection.sendall(request)
    with closing(http.client.HTTPResponse(connection, method=method)) as received:
        received.begin()
        return Response(received.status, dict(received.getheaders()), received.read())


def comparable(response: Response) -> tuple[int, Headers, Any]:
    """Return what must be the same with and without the proxy."""
    headers = {name.lower(): value for name, value in response.headers.items() if name.lower() not in OWN_HEADERS}
    if headers.get("content-type") != "application/json" or not response.body:
        return response.status, headers, response.body
    body = json.loads(response.body)
    # Ids have one length.
    return response.status, headers, {k: v for k, v in body.items() if k not in {"requestId", "serverTime"}}
