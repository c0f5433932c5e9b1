"""A client that signs requests, for commands and partners: the standard library, signatures.py and rfc_3339.py."""

import http.client
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import SplitResult, unquote_to_bytes, urlsplit

from partners.rfc_3339 import format_timestamp
from partners.signing import signatures

METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})

# Characters that a request target must percent-encode (RFC 3986).
_TO_ENCODE = re.compile(rb"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]")


class NoResponseError(Exception):
    """The service is unreachable or did not respond."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A response. headers: repeated ones are joined by a comma."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def header(self, name: str) -> str | None:
        """A header's value; names are case-insensitive."""
        return {key.lower(): value for key, value in self.headers.items()}.get(name.lower())

    def json(self) -> Any:
        """The parsed body. Raises ValueError."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class SignedClient:
    """Signs requests with an API key (contract, section 3) and sends each on a new connection.

    base_url: such as https://partners.example; a path in it is sent but not signed. timeout: in seconds, for each wait.
    """

    base_url: str
    api_key: str = field(repr=False)
    secret: str = field(repr=False)
    timeout: float = 30.0

    def send(self, method: str, target: str, body: bytes = b"", idempotency_key: str | None = None) -> Reply:
        """Send a request; return its response, errors included.

        method: in upper case. target: path and query, percent-encoded or not. Raises NoResponseError; ValueError for a
        malformed base URL or target.
        """
        base, target = split_base_url(self.base_url), encode_target(target)
        headers = self.headers(method, target, body, idempotency_key)
        if body or method in METHODS_WITH_BODY:
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        try:
            return self._exchange(base, method, target, headers, body)
        except (OSError, http.client.HTTPException) as error:
            raise NoResponseError(f"No response from {self.base_url}: {str(error) or type(error).__name__}") from error

    def headers(self, method: str, target: str, body: bytes, idempotency_key: str | None) -> dict[str, str]:
        """The headers that authenticate a request sent now. target: percent-encoded."""
        path, _, query = target.partition("?")
        timestamp = format_timestamp(datetime.now(UTC))
        canonical = signatures.canonical_request(
            method, unquote_to_bytes(path), query.encode(), timestamp, idempotency_key or "", body
        )
        key = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return {
            "X-Api-Key": self.api_key,
            "X-Request-Timestamp": timestamp,
            "X-Request-Signature": signatures.sign(self.secret, canonical),
        } | key

    def _exchange(self, base: SplitResult, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        kind = http.client.HTTPSConnection if base.scheme == "https" else http.client.HTTPConnection
        connection = kind(base.hostname or "", base.port, timeout=self.timeout)
        try:
            connection.connect()
            connection.putrequest(method, base.path.rstrip("/") + target, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            # A service that refuses a body without reading it still responds.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.endheaders(body or None)
            response = connection.getresponse()
            headers = {name: response.getheader(name, "") for name in response.headers}
            return Reply(response.status, response.reason, headers, response.read())
        finally:
            connection.close()


def encode_target(target: str) -> str:
    """Percent-encode a request target where needed. Raises ValueError unless it begins with a slash and is UTF-8."""
    if not target.startswith("/"):
        raise ValueError("the path must begin with a slash, such as /v1/ping")
    encoded = _TO_ENCODE.sub(lambda match: b"%%%02X" % match[0][0], target.encode())
    path, _, query = encoded.partition(b"?")
    try:
        signatures.canonical_path(unquote_to_bytes(path))
        signatures.canonical_query(query)
    except signatures.NotUtf8Error:
        raise ValueError("the path and the query, percent-decoded, must be UTF-8") from None
    return encoded.decode()


def split_base_url(text: str) -> SplitResult:
    """The parts of a base URL, http(s)://host with an optional port and path. Raises ValueError."""
    base = urlsplit(text)
    if base.scheme not in {"http", "https"} or not base.hostname or base.port == 0 or base.query or base.fragment:
        raise ValueError("a base URL has the form https://partners.example or http://127.0.0.1:8000")
    return base
