"""A client of the Partner Service Interface. Python 3.11 or newer, no packages; one file that may be copied as psi.py.

export PSI_BASE_URL=https://partners.example PSI_API_KEY=psi_test_key_… PSI_SECRET=psi_test_secret_…
python3 psi.py GET /v1/ping
python3 psi.py PATCH /v1/users/cust-1001 '{"city": "Ottawa"}'

The status goes to standard error, the body to standard output: redirect it with `>` to save it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import io
import itertools
import json
import logging
import os
import platform
import random
import re
import selectors
import socket
import ssl
import sys
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead, InvalidURL
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

if TYPE_CHECKING:  # A copy of this file works without the types.
    from psi.types import (
        AddedWebhook,
        ApiKey,
        CompletedWrite,
        Conversion,
        CreatedUser,
        Document,
        Event,
        FieldError,
        ListedUser,
        NewUser,
        Ping,
        RecordedConversions,
        RemovedWebhook,
        Requirement,
        RevokedKey,
        RotatedKey,
        RotatedSecret,
        SandboxRequest,
        SimulatedConversion,
        SimulatedDecision,
        SimulatedDocument,
        SimulatedRequirement,
        UserChanges,
        UserSummary,
        Webhook,
        WebhookSettings,
        WebhookTestResult,
    )

__version__ = "0.1.0"

_USER_AGENT = f"partner-service-interface-client/{__version__} (Python {platform.python_version()})"
_WRITES = frozenset({"POST", "PATCH"})
_TEMPORARY = frozenset({408, 429, 500, 502, 503, 504})
_FIRST_PAUSE, _MAX_PAUSE = 0.5, 30.0
# Seconds for which a connection without a request is kept: less than proxies do.
_MAX_IDLE = 50.0
# Bytes of a document that are written to a file at once.
_CHUNK = 1 << 16
_DIFFERS = "The file is not what was listed: its SHA-256 differs."
_log = logging.getLogger("psi")
# What copying leaves around a key: white space, line ends, a byte order mark.
_AROUND = " \t\r\n\f\v\ufeff\u00a0"
_Value = TypeVar("_Value", bound=str)
_Read = TypeVar("_Read")


# Signing


def canonical_request(method: str, target: str, timestamp: str, idempotency_key: str, body: bytes) -> str:
    """Returns the canonical request, the six lines to sign.

    target: the path from /v1 on with its query, as sent. Raises UnicodeError if it is not UTF-8.
    """
    path, _, query = target.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True, errors="strict")
    encoded = sorted((quote(name, safe=""), quote(value, safe="")) for name, value in pairs)
    lines = (
        method,
        quote(unquote(path, errors="strict"), safe="/"),
        "&".join(f"{name}={value}" for name, value in encoded),
        timestamp,
        idempotency_key,
        hashlib.sha256(body).hexdigest(),
    )
    return "\n".join(lines)


def sign(secret: str, canonical: str) -> str:
    """Returns the signature: the hex HMAC-SHA256 under the secret as issued."""
    return hmac.new(secret.encode(), canonical.encode(), hashlib.sha256).hexdigest()


# Responses and errors


class RateLimit(NamedTuple):
    """Of the partner: requests in a window, those that remain of them, and the seconds until the window ends."""

    limit: int
    remaining: int
    reset_seconds: int


class Response(NamedTuple):
    """A response of the service."""

    status: int
    headers: Message
    body: bytes

    def json(self) -> Any:
        """Parses the body. Raises NoResponseError if it is not JSON, as from a proxy."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise NoResponseError(f"The response is not the service's: {self.status} without JSON.") from error

    @property
    def request_id(self) -> str:
        """For support; empty if the response is not the service's."""
        return self.headers.get("X-Request-Id", "")

    @property
    def replayed(self) -> bool:
        """Whether it is the response of an earlier request with this Idempotency-Key."""
        return self.headers.get("Idempotent-Replayed") == "true"

    @property
    def rate_limit(self) -> RateLimit | None:
        """None if the service did not say, as before authentication."""
        fields = f"{self.headers.get('RateLimit-Policy')}\n{self.headers.get('RateLimit')}"
        found = re.search(r";q=(\d+).*\n.*;r=(\d+).*;t=(\d+)", fields)
        return RateLimit(*map(int, found.groups())) if found else None

    @property
    def retry_after(self) -> float | None:
        """Seconds; None if the service did not say."""
        after = self.headers.get("Retry-After", "")
        with suppress(ValueError, OverflowError):
            if after.isascii() and after.isdigit():
                return float(after)
            return max(parsedate_to_datetime(after).timestamp() - time.time(), 0.0)
        return None


class _Result(dict[str, Any]):
    """A JSON object, and the response that it came in."""

    response: Response


def response_of(result: Any) -> Response:
    """Returns the response that a method's result came in. Raises TypeError for what is no such dictionary."""
    if isinstance(result, _Result):
        return result.response
    raise TypeError("only the dictionaries that the client's methods return have a response")


class PsiError(Exception):
    """A request failed. is_temporary: whether the same request may succeed later."""

    is_temporary = False


class ConfigurationError(PsiError):
    """Nothing was sent: a setting is missing or malformed, or the host is unknown or shows a wrong certificate."""


class NoResponseError(PsiError):
    """No response, or a damaged one. A write may have taken effect: retry it under the same Idempotency-Key."""

    is_temporary = True


class ApiError(PsiError):
    """The service refused or failed.

    status: of HTTP. error: its code, for programs; empty if the response is not the service's, as from a proxy.
    message: for people. request_id: for support. field_errors: each with field, code and message. body: all of it.
    response: with its headers and rate_limit.
    """

    def __init__(self, response: Response) -> None:
        try:
            self.body: dict[str, Any] = _object(response)
        except NoResponseError:
            self.body = {}
        self.response, self.status, self.headers = response, response.status, response.headers
        self.is_temporary = response.status in _TEMPORARY
        self.error = _text(self.body, "error")
        self.message = _text(self.body, "message") or "The response is not the service's."
        self.request_id = _text(self.body, "requestId") or response.request_id
        given = self.body.get("fieldErrors")
        self.field_errors: list[FieldError] = [
            {"field": _text(one, "field"), "message": _text(one, "message"), "code": _text(one, "code")}
            for one in (given if isinstance(given, list) else [])
            if isinstance(one, dict)
        ]
        super().__init__(self._described())

    def _described(self) -> str:
        text = f"{self.status} {self.error}".strip() + f": {self.message}"
        text += "".join(f" {one['field']}: {one['message']}" for one in self.field_errors)
        # In the sandbox, a refused signature has a diagnosis.
        if diagnosis := _text(self.body.get("diagnosis"), "message"):
            text += f" {diagnosis}"
        return f"{text} (request {self.request_id})" if self.request_id else text


class WebhookError(PsiError):
    """A webhook is not signed by the service, or is too old: respond with 401."""


# The client


class _TimedReader(io.RawIOBase):
    """Reads from a socket until a deadline, however slowly the bytes arrive."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, deadline: float) -> None:
        self._raw, self._sock, self._deadline = raw, sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(_seconds_until(self._deadline))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedResponse(HTTPResponse):
    def __init__(self, deadline: float, sock: socket.socket, *more: Any, **named: Any) -> None:
        super().__init__(sock, *more, **named)
        self.fp = io.BufferedReader(_TimedReader(self.fp.detach(), sock, deadline))


def _seconds_until(deadline: float) -> float:
    if (seconds := deadline - time.monotonic()) <= 0:
        raise TimeoutError("timed out")
    return seconds


class _Connections:
    """Sends requests to one host, and keeps the connections for the next ones. May be used by several threads."""

    def __init__(self, base_url: str, timeout: float, proxy: str | None, tls: ssl.SSLContext | None) -> None:
        self._url, self._timeout = urlsplit(base_url), timeout
        self._is_tls = self._url.scheme == "https"
        if proxy is None and not proxy_bypass(self._url.netloc):
            proxy = getproxies().get(self._url.scheme)
        self._proxy = _proxy(proxy) if proxy else None
        self._tls = (tls or ssl.create_default_context()) if self._is_tls else None
        # The newest last, with the time of its last response.
        self.idle: list[tuple[float, HTTPConnection]] = []
        self._process = os.getpid()
        weakref.finalize(self, self.close, self.idle)

    @contextmanager
    def response(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> Iterator[HTTPResponse]:
        """Sends a request. Its response is to be read within the timeout. Raises PsiError."""
        deadline = time.monotonic() + self._timeout
        target = self._url.path + target
        if self._proxy and not self._is_tls:
            target, headers = f"http://{self._url.netloc}{target}", headers | _credentials(self._proxy)
        connection = self._take()
        try:
            with self.failures():
                connection.response_class = partial(_TimedResponse, deadline)  # type: ignore[assignment]
                if connection.sock is None:
                    connection.timeout = _seconds_until(deadline)
                    connection.connect()
                connection.sock.settimeout(_seconds_until(deadline))
                connection.request(method, target, body or None, headers)
                response = connection.getresponse()
            yield response
        except BaseException:
            connection.close()
            raise
        # Closed by now unless it may be used again.
        if connection.sock is not None:
            self.idle.append((time.monotonic(), connection))

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Raises PsiError for what fails between here and the service."""
        try:
            yield
        except InvalidURL as error:
            raise ConfigurationError("The path is malformed.") from error
        except (OSError, HTTPException) as error:
            host = self._url.hostname
            if isinstance(error, ssl.SSLCertVerificationError):
                raise ConfigurationError(
                    f"The certificate of {host} is not trusted: {error.verify_message}."
                ) from error
            if isinstance(error, socket.gaierror) and error.errno != socket.EAI_AGAIN:
                raise ConfigurationError(f"The host {(self._proxy or self._url).hostname} is unknown.") from error
            raise NoResponseError(f"no response: {error}") from error

    def _take(self) -> HTTPConnection:
        """A connection that is open, or a new one."""
        if self._process != os.getpid():
            # A fork: these are the parent's.
            self.close(self.idle)
            self._process = os.getpid()
        with suppress(IndexError):
            while True:
                since, connection = self.idle.pop()
                if time.monotonic() - since < _MAX_IDLE and not _has_input(connection.sock):
                    return connection
                connection.close()
        return self._new()

    def _new(self) -> HTTPConnection:
        first = self._proxy or self._url
        host, port = first.hostname or "", first.port or (443 if self._is_tls and not self._proxy else 80)
        if not self._is_tls:
            return HTTPConnection(host, port)
        connection = HTTPSConnection(host, port, context=self._tls)
        if self._proxy:
            connection.set_tunnel(self._url.hostname or "", self._url.port or 443, _credentials(self._proxy))
        return connection

    @staticmethod
    def close(connections: list[tuple[float, HTTPConnection]]) -> None:
        while connections:
            connections.pop()[1].close()


def _has_input(sock: socket.socket) -> bool:
    """Whether the other side has closed the connection, or sent what nobody has asked for."""
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(0))


def _proxy(url: str) -> SplitResult:
    with suppress(ValueError):
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme == "http" and parts.hostname and parts.port != 0:
            return parts
    raise ConfigurationError("the proxy is no URL such as http://proxy.example:3128")


def _credentials(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


class Client:
    """Calls the service with an API key. May be used by several threads.

    base_url, api_key, secret: by default the environment's PSI_BASE_URL, PSI_API_KEY, PSI_SECRET. timeout: of a
    whole attempt, in seconds. attempts: at most, for each request. max_wait: the longest Retry-After that is waited
    for, in seconds. proxy: its URL, by default the environment's HTTPS_PROXY, unless NO_PROXY names the host; empty for
    none. ssl_context: whom to trust, by default what the system trusts. Raises ConfigurationError. The methods raise
    that, ApiError and NoResponseError; those that write take an idempotency_key, by default a new one. Connections are
    kept for the next request, and closed with the client.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        secret: str | None = None,
        *,
        timeout: float = 30.0,
        attempts: int = 5,
        max_wait: float = 60.0,
        proxy: str | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        url = _base_url(_plain("PSI_BASE_URL", base_url))
        self._api_key = _plain("PSI_API_KEY", api_key)
        self._secret = _plain("PSI_SECRET", secret)
        self._attempts, self._max_wait = attempts, max_wait
        self._connections = _Connections(url, timeout, proxy, ssl_context)

    def close(self) -> None:
        """Closes the connections, as the end of the program does."""
        self._connections.close(self._connections.idle)

    @property
    def sandbox(self) -> Sandbox:
        """What sandbox partners can do in addition."""
        return Sandbox(self._result)

    def ping(self) -> Ping:
        """The partner of the key, its mode, and the service's time."""
        return self._result("GET", "/v1/ping")

    def create_user(self, user: NewUser, *, idempotency_key: str | None = None) -> CreatedUser:
        """Registers a user. ApiError: 400 names the fields, 409 is a known externalId, 422 a minor."""
        return self._result("POST", "/v1/users", user, idempotency_key=idempotency_key)

    def update_user(self, external_id: str, changes: UserChanges, *, idempotency_key: str | None = None) -> UserSummary:
        """Changes the fields that are sent."""
        return self._result("PATCH", user_path(external_id), changes, idempotency_key=idempotency_key)

    def get_user(self, external_id: str) -> UserSummary:
        """The status of a user."""
        return self._result("GET", user_path(external_id))

    def respond_to_requirement(
        self, external_id: str, requirement_id: str, note: str, *, idempotency_key: str | None = None
    ) -> Requirement:
        """Answers a requirement of a user with a note; an update that has all of its fields answers it too."""
        path = user_path(external_id, "requirements", requirement_id, "response")
        return self._result("POST", path, {"note": note}, idempotency_key=idempotency_key)

    def users(self, *, status: str | None = None, limit: int = 100) -> Iterator[ListedUser]:
        """All users, newest first, without personal data. limit: of a page."""
        for page in self.pages("/v1/users", {"status": status, "limit": limit}):
            yield from page["items"]

    def transactions(self, external_id: str, *, limit: int = 100) -> Iterator[Conversion]:
        """All conversions of a user, newest first. Amounts are texts: use Decimal, not float."""
        for page in self.pages(user_path(external_id, "transactions"), {"limit": limit}):
            yield from page["items"]

    def documents(self, external_id: str, *, limit: int = 100) -> Iterator[Document]:
        """All documents of a user, newest first."""
        for page in self.pages(user_path(external_id, "documents"), {"limit": limit}):
            yield from page["items"]

    def get_document(self, external_id: str, document_id: str, *, sha256: str | None = None) -> bytes:
        """The file of a document. sha256: as listed; a file that differs is requested again like a lost response."""
        path = user_path(external_id, "documents", document_id)
        return self._retried(lambda response: _file(response, sha256), "GET", path)

    def download_document(
        self, external_id: str, document_id: str, file: BinaryIO, *, sha256: str | None = None
    ) -> None:
        """Writes the file of a document into a file that is open for writing in binary, a part at a time.

        sha256: as listed. file: each attempt begins where it was at first, so it is seekable; after an error, it has
        what came until then.
        """
        start = file.tell()

        def save(response: HTTPResponse) -> bytes:
            digest = hashlib.sha256()
            file.seek(start)
            file.truncate()
            while chunk := self._read(response, _CHUNK):
                digest.update(chunk)
                file.write(chunk)
            if sha256 not in {None, digest.hexdigest()}:
                raise NoResponseError(_DIFFERS)
            return b""

        self._retried(lambda response: response, "GET", user_path(external_id, "documents", document_id), save=save)

    def get_idempotency_key(self, idempotency_key: str) -> CompletedWrite | None:
        """The write that took effect under a key, or None: so far none has."""
        try:
            return self._result("GET", f"/v1/idempotency-keys/{quote(idempotency_key, safe='')}")
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def events(self, cursor: str | None = None, *, limit: int = 100, poll_seconds: float | None = None) -> Events:
        """The events after a cursor, oldest first, by default from the oldest kept.

        poll_seconds: between looks for new ones; by default the events end with the newest.
        """
        return Events(self, cursor, limit, poll_seconds)

    def pages(self, path: str, query: Mapping[str, Any] | None = None) -> Iterator[Any]:
        """The pages of a list, each with items and nextCursor. query: a cursor is where to begin."""
        query = dict(query or {})
        while True:
            page = self._result("GET", path, query=query)
            yield page
            if page["nextCursor"] is None:
                return
            query["cursor"] = page["nextCursor"]

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Sends any request, and retries it after a failure that is temporary.

        method: in any letter case. path: percent-encoded, from /v1 on. body: becomes JSON, but bytes and texts are
        sent as they are. idempotency_key: empty for none, and the write is then not retried. headers: not signed.
        Raises ApiError, NoResponseError.
        """
        return self._retried(
            lambda response: response,
            method,
            path,
            body,
            query=query,
            idempotency_key=idempotency_key,
            headers=headers,
        )

    def send(
        self,
        method: str,
        target: str,
        body: Any = b"",
        idempotency_key: str | None = None,
        more_headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Signs a request and sends it once; an error status is returned too.

        target: path and query, percent-encoded. body: as of `request`, sent as it is signed, byte for byte. Raises
        NoResponseError, ConfigurationError, and UnicodeError if the target is not UTF-8.
        """
        return self._send(method, target, body, idempotency_key, more_headers)

    def _send(
        self,
        method: str,
        target: str,
        body: Any,
        idempotency_key: str | None,
        more_headers: Mapping[str, str] | None,
        save: Callable[[HTTPResponse], bytes] | None = None,
    ) -> Response:
        method, body = method.upper(), _content(body)
        key = _key_for(method, idempotency_key)
        timestamp = datetime.now(UTC).isoformat()
        canonical = canonical_request(method, target, timestamp, key, body)
        headers = (
            {"User-Agent": _USER_AGENT}
            | dict(more_headers or {})
            | {
                "X-Api-Key": self._api_key,
                "X-Request-Timestamp": timestamp,
                "X-Request-Signature": sign(self._secret, canonical),
            }
        )
        if key:
            headers["Idempotency-Key"] = key
        if method in _WRITES:
            headers["Content-Type"] = "application/json"
        with self._connections.response(method, target, body, headers) as response:
            content = save(response) if save and response.status == 200 else self._read(response)
            _log.debug("%s %s: %d, %s", method, target, response.status, response.headers.get("X-Request-Id"))
            return Response(response.status, response.headers, content)

    def _read(self, response: HTTPResponse, size: int | None = None) -> bytes:
        with self._connections.failures():
            content = response.read(size)
            if size and not content and response.length:
                raise IncompleteRead(content, response.length)
            return content

    def _result(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        return self._retried(_object, method, path, body, query=query, idempotency_key=idempotency_key)

    def _retried(
        self,
        read: Callable[[Response], _Read],
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        save: Callable[[HTTPResponse], bytes] | None = None,
    ) -> _Read:
        """What is read from the response; one that cannot be read is requested again like a lost one."""
        method, content = method.upper(), _content(body)
        given = {name: value for name, value in (query or {}).items() if value is not None}
        target = f"{path}?{urlencode(given)}" if given else path
        key = _key_for(method, idempotency_key)
        safe = bool(key) or method == "GET"
        for number in itertools.count(1):
            try:
                # Each attempt has the same key and bytes, a new timestamp and a new signature.
                return read(_succeeded(self._send(method, target, content, key, headers, save)))
            except PsiError as error:
                pause = _pause(error, number)
                if not (safe and error.is_temporary and number < self._attempts and pause <= self._max_wait):
                    raise
                _log.info("%s %s is retried in %.1f s: %s", method, target, pause, error)
            time.sleep(pause)
        raise AssertionError


class Sandbox:
    """What sandbox partners can do in addition: simulate what compliance does, set up webhooks, and manage their keys.

    Methods whose response has a secret send no Idempotency-Key and are not retried: that response is given once.
    """

    def __init__(self, result: Callable[..., Any]) -> None:
        self._result = result

    def simulate_decision(
        self, external_id: str, decision: SimulatedDecision, *, idempotency_key: str | None = None
    ) -> UserSummary:
        """Changes the status of a user. ApiError: 409 is a move that is not allowed."""
        return self._simulate(decision, idempotency_key, external_id, "status")

    def simulate_transactions(
        self, external_id: str, conversions: Sequence[SimulatedConversion], *, idempotency_key: str | None = None
    ) -> RecordedConversions:
        """Records up to 100 conversions, all or none."""
        return self._simulate({"items": conversions}, idempotency_key, external_id, "transactions")

    def simulate_document(
        self, external_id: str, document: SimulatedDocument, *, idempotency_key: str | None = None
    ) -> Document:
        """Publishes a sample."""
        return self._simulate(document, idempotency_key, external_id, "documents")

    def simulate_requirement(
        self, external_id: str, requirement: SimulatedRequirement, *, idempotency_key: str | None = None
    ) -> Requirement:
        """Opens a requirement."""
        return self._simulate(requirement, idempotency_key, external_id, "requirements")

    def simulate_closing(
        self, external_id: str, requirement_id: str, *, idempotency_key: str | None = None
    ) -> Requirement:
        """Closes a requirement."""
        return self._simulate({}, idempotency_key, external_id, "requirements", requirement_id, "close")

    def webhooks(self) -> list[Webhook]:
        """The webhooks, without their secrets."""
        return self._result("GET", "/v1/sandbox/webhooks")["items"]

    def add_webhook(self, settings: WebhookSettings) -> AddedWebhook:
        """Adds a webhook. Its secret is shown this once."""
        return self._result("POST", "/v1/sandbox/webhooks", settings, idempotency_key="")

    def remove_webhook(self, webhook_id: str) -> RemovedWebhook:
        """Removes a webhook."""
        return self._result("DELETE", _sandbox_path("webhooks", webhook_id))

    def test_webhook(self, webhook_id: str) -> WebhookTestResult:
        """Has a webhook.test sent, and returns how the webhook responded."""
        return self._result("POST", _sandbox_path("webhooks", webhook_id, "test"), {})

    def rotate_webhook_secret(self, webhook_id: str, *, overlap_hours: int | None = None) -> RotatedSecret:
        """Gives a webhook another secret. overlap_hours: for which the old one signs too."""
        path = _sandbox_path("webhooks", webhook_id, "rotate-secret")
        return self._result("POST", path, _overlap(overlap_hours), idempotency_key="")

    def api_keys(self) -> list[ApiKey]:
        """The keys in force, newest first, without their secrets."""
        return self._result("GET", "/v1/sandbox/api-keys")["items"]

    def rotate_api_key(self, *, overlap_hours: int | None = None) -> RotatedKey:
        """Issues a key in place of the one that signs. overlap_hours: for which the old one is in force too."""
        return self._result("POST", "/v1/sandbox/api-keys/rotate", _overlap(overlap_hours), idempotency_key="")

    def revoke_api_key(self, api_key_prefix: str) -> RevokedKey:
        """Revokes a key, other than the one that signs."""
        return self._result("DELETE", _sandbox_path("api-keys", api_key_prefix))

    def requests(self, *, limit: int = 25) -> list[SandboxRequest]:
        """The last requests, newest first, with status, errors and diagnosis."""
        return self._result("GET", "/v1/sandbox/requests", query={"limit": limit})["items"]

    def get_request(self, request_id: str) -> SandboxRequest:
        """One of the last requests."""
        return self._result("GET", _sandbox_path("requests", request_id))

    def _simulate(self, body: Any, idempotency_key: str | None, *names: str) -> Any:
        return self._result("POST", _sandbox_path("users", *names), body, idempotency_key=idempotency_key)


def _sandbox_path(*names: str) -> str:
    return "/".join(["/v1/sandbox", *(quote(one, safe="") for one in names)])


def _overlap(hours: int | None) -> dict[str, int]:
    return {} if hours is None else {"overlapHours": hours}


class Events(Iterator["Event"]):
    """Events in the feed's order.

    cursor: where to continue once you have handled the event that you have. Store it after that, not before: after a
    crash, up to a page of events comes again, so handling one twice must have the same result as once.
    """

    def __init__(self, client: Client, cursor: str | None, limit: int, poll_seconds: float | None) -> None:
        self.cursor = cursor
        self._events = self._read(client, limit, poll_seconds)

    def __next__(self) -> Event:
        return next(self._events)

    def _read(self, client: Client, limit: int, poll_seconds: float | None) -> Iterator[Event]:
        while True:
            page = next(client.pages("/v1/events", {"cursor": self.cursor, "limit": limit}))
            yield from page["items"][:-1]
            self.cursor = page["nextCursor"]
            yield from page["items"][-1:]
            if not page["hasMore"]:
                if poll_seconds is None:
                    return
                time.sleep(poll_seconds)


# What programs use beside the client


def user_path(external_id: str, *more: str) -> str:
    """Returns the path of a user, or of what is below it, percent-encoded."""
    return "/".join(["/v1/users", *(quote(one, safe="") for one in (external_id, *more))])


def known(value: str | None, handled: Sequence[_Value], otherwise: _Value) -> _Value:
    """Returns the value if your program handles it, else what you handle it like: values may be added at any time.

    known(event["type"], ("user.statusChanged", "user.documentPublished"), "other")
    """
    return next((one for one in handled if one == value), otherwise)


def verify_webhook(
    body: bytes, headers: Mapping[str, str], secrets: Sequence[str], *, tolerance: float = 300.0
) -> Event:
    """Returns the event of a webhook that the service has signed (Standard Webhooks 1.0).

    body: the bytes as they came. secrets: `whsec_…`, several while you change from one to the next. tolerance: the
    greatest age, and difference of clocks, in seconds. Raises WebhookError; ValueError if a secret is malformed.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, timestamp, signatures = (given[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    except KeyError as error:
        raise WebhookError(f"The header {error.args[0]} is missing.") from None
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(time.time() - int(timestamp)) > tolerance:
        raise WebhookError("The time of the webhook is malformed, or too far from this clock.")
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = [b"v1," + base64.b64encode(hmac.digest(_webhook_key(secret), signed, "sha256")) for secret in secrets]
    if not any(hmac.compare_digest(one, other.encode()) for one in expected for other in signatures.split()):
        raise WebhookError("No signature of the webhook is right.")
    try:
        event: Event = json.loads(body)
    except ValueError:
        raise WebhookError("The body of the webhook is not JSON.") from None
    return event


def send(*request: Any, **options: Any) -> Response:
    """Client.send with the environment's settings: one attempt, and an error status is returned too."""
    return Client().send(*request, **options)


def _webhook_key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raise ValueError("A webhook's secret is whsec_ and base64.") from None


def _key_for(method: str, idempotency_key: str | None) -> str:
    if idempotency_key is None:
        return str(uuid.uuid4()) if method in _WRITES else ""
    return idempotency_key


def _succeeded(response: Response) -> Response:
    if not 200 <= response.status < 300:
        raise ApiError(response)
    return response


def _object(response: Response) -> _Result:
    value = response.json()
    if not isinstance(value, dict):
        raise NoResponseError(f"The response is not the service's: {response.status} without a JSON object.")
    result = _Result(value)
    result.response = response
    return result


def _file(response: Response, sha256: str | None) -> bytes:
    if sha256 is not None and hashlib.sha256(response.body).hexdigest() != sha256:
        raise NoResponseError(_DIFFERS)
    return response.body


def _text(parsed: Any, name: str) -> str:
    """A text of an error's body, which may come from a proxy and be anything; empty where there is none."""
    value = parsed.get(name) if isinstance(parsed, dict) else None
    return value if isinstance(value, str) else ""


def _pause(error: PsiError, number: int) -> float:
    """Seconds to wait after this attempt: longer each time, and not the same for all who wait."""
    if isinstance(error, ApiError) and (after := error.response.retry_after) is not None:
        return after * random.uniform(1, 1.1)
    return min(_FIRST_PAUSE * 2.0 ** (number - 1), _MAX_PAUSE) * random.uniform(0.5, 1)


def setting(name: str) -> str:
    """Returns an environment variable, without white space around it. Raises ConfigurationError if it is not set."""
    if value := os.environ.get(name, "").strip(_AROUND):
        return value
    raise ConfigurationError(f"{name} is not set")


def _plain(name: str, given: str | None) -> str:
    """A setting; one that is given has the name of its variable in messages, and is in none itself."""
    value = given.strip(_AROUND) if given else setting(name)
    if not (value.isascii() and value.isprintable() and " " not in value):
        raise ConfigurationError(f"{name} has characters that do not belong there")
    return value


def _base_url(url: str) -> str:
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in {"http", "https"} and parts.hostname and parts.hostname.encode("idna") and parts.port != 0:
            return url.rstrip("/")
    raise ConfigurationError("PSI_BASE_URL is no URL such as https://partners.example")


def _content(body: Any) -> bytes:
    if isinstance(body, str):
        return body.encode()
    return body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()


def main() -> None:
    """Command line: sends one request and writes the response. Exit status 0 for a 2xx."""
    if len(sys.argv) not in {3, 4}:
        sys.exit("usage: python3 psi.py METHOD PATH [JSON]")
    method, target, *body = sys.argv[1:]
    try:
        response = send(method, target, "".join(body).encode(), os.environ.get("PSI_IDEMPOTENCY_KEY") or None)
    except (ValueError, PsiError) as error:
        sys.exit(str(error))
    print(response.status, file=sys.stderr)
    sys.stdout.buffer.write(response.body)
    sys.stdout.flush()
    print(file=sys.stderr)
    sys.exit(0 if 200 <= response.status < 300 else 1)


if __name__ == "__main__":
    main()
