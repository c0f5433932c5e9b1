"""A partner's client: every request is signed and passes real authentication."""

import http.client
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote_to_bytes

from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from rest_framework.test import APIClient

from psi import canonical_request, sign
from tests.support import drift, internal
from tests.support.timeouts import WAIT_SECONDS

Headers = dict[str, str]
# Method, request target, headers, body.
Transport = Callable[[str, str, Headers, bytes], "Response"]


@dataclass(frozen=True)
class Response:
    """A response. Header names are case-insensitive."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        return {k.lower(): v for k, v in self.headers.items()}.get(name.lower())


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass
class PartnerClient:
    """Signs requests with one key and sends them over a transport."""

    api_key: str
    secret: str
    transport: Transport
    defaults: Headers = field(default_factory=dict)

    def headers(
        self, method: str, target: str, body: bytes, *, key: str | None, timestamp: str | None, secret: str | None
    ) -> Headers:
        sent_at = timestamp if timestamp is not None else now()
        try:
            canonical = canonical_request(method, target, sent_at, key or "", body)
        except UnicodeError:
            canonical = "none"
        headers = {
            "X-Api-Key": self.api_key,
            "X-Request-Timestamp": sent_at,
            "X-Request-Signature": sign(secret or self.secret, canonical),
        }
        if key is not None:
            headers["Idempotency-Key"] = key
        if method in {"POST", "PATCH"}:
            headers["Content-Type"] = "application/json"
        return headers

    def send(
        self,
        method: str,
        target: str,
        data: object = None,
        *,
        key: str | None = None,
        timestamp: str | None = None,
        secret: str | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Response:
        """Sign and send. data: bytes, or an object for JSON. headers: replace signed ones; None removes one."""
        body = data if isinstance(data, bytes) else b"" if data is None else json.dumps(data).encode()
        signed = self.headers(method, target, body, key=key, timestamp=timestamp, secret=secret) | self.defaults
        for name, value in (headers or {}).items():
            if value is None:
                signed.pop(name, None)
            else:
                signed[name] = value
        return self.transport(method, target, signed, body)

    def get(self, target: str, **options: Any) -> Response:
        return self.send("GET", target, **options)

    def post(self, target: str, data: object, **options: Any) -> Response:
        return self.send("POST", target, data, **options)

    def patch(self, target: str, data: object, **options: Any) -> Response:
        return self.send("PATCH", target, data, **options)


def in_process(method: str, target: str, headers: Headers, body: bytes, stream: Any = None) -> Response:
    """Call the WSGI application with the server's environment (PATH_INFO has decoded bytes).

    stream: what the application reads instead of `body`.
    """
    from config.wsgi import application

    path, _, query = target.partition("?")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "testserver",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.url_scheme": "http",
        "wsgi.input": stream or io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
    }
    for name, value in headers.items():
        wsgi_name = name.upper().replace("-", "_")
        environ[wsgi_name if wsgi_name in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{wsgi_name}"] = value
    started: list[Any] = []

    def start_response(status: str, response_headers: list[tuple[str, str]], exc_info: Any = None, /) -> Any:
        started.extend((status, response_headers))

    # Django's test client connects it at the end of each request.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    result: Any = application(environ, start_response)
    try:
        content = b"".join(result)
    finally:
        if hasattr(result, "close"):  # PEP 3333 asks for it where there is one
            result.close()
    response = Response(int(started[0].split(" ", 1)[0]), dict(started[1]), content)
    return _validated(method, target, _whole(method, response))


def by_api_client(method: str, target: str, headers: Headers, body: bytes) -> Response:
    """Send a request by DRF's test client, through Django's own handler."""
    return _by_client(APIClient(raise_request_exception=False), method, target, headers, body)


def _by_client(client: Client, method: str, target: str, headers: Headers, body: bytes) -> Response:
    given = {name: value for name, value in headers.items() if name != "Content-Type"}
    received: Any = client.generic(method, target, body, headers.get("Content-Type", ""), headers=given)
    content = b"".join(received.streaming_content) if received.streaming else received.content
    response = Response(received.status_code, dict(received.headers), content)
    return _validated(method, target, _whole(method, response))


def over_http(host: str, port: int) -> Transport:
    """Return a transport to a live server, with a connection for each request."""

    def transport(method: str, target: str, headers: Headers, body: bytes) -> Response:
        connection = http.client.HTTPConnection(host, port, timeout=WAIT_SECONDS)
        try:
            connection.putrequest(method, target, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            if body or method in {"POST", "PATCH"}:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body or None)
            received = connection.getresponse()
            response = Response(received.status, dict(received.getheaders()), received.read())
        finally:
            connection.close()
        return _validated(method, target, response)

    return transport


def _whole(method: str, response: Response) -> Response:
    """Raise http.client.IncompleteRead, as over HTTP, for a body that is shorter than announced."""
    missing = int(response.header("Content-Length") or 0) - len(response.body)
    if missing > 0 and method != "HEAD":
        raise http.client.IncompleteRead(response.body, missing)
    return response


def _validated(method: str, target: str, response: Response) -> Response:
    if method != "HEAD" or response.body:  # servers leave its body out
        drift.check(method, target, response.status, response.headers, response.body)
        internal.check(response.body)
    return response
