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
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol, TypeVar
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
_UNAUTHENTICATED = "The proxy wants credentials (407): its URL is as http://name:password@proxy.example:3128."
_EITHER = "a transport has its own proxy and ssl_context"
_log = logging.getLogger("psi")
# What copying leaves around a key: white space, line ends, a byte order mark.
_AROUND = " \t\r\n\f\v\ufeff\u00a0"
_Value = TypeVar("_Value", bound=str)
_Read = TypeVar("_Read")
# An operation, with and without asyncio: yields an _Attempt, and is sent its Response or thrown a PsiError; yields
# seconds to wait, or an _Item for whoever iterates; returns its result.
_Steps = Generator["_Attempt | _Item | float", Any, _Read]


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
    """The partner's requests in a window, those that remain of them, and the seconds until the window ends."""

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
    """Nothing reached the service: a setting is missing or malformed, the host is unknown or shows a wrong certificate,
    or a proxy wants credentials.
    """


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


# Sending


class Transport(Protocol):
    """Sends requests in place of the client's connections: any function that takes these arguments.

    url, headers, body: to send as they are; an empty body is none. timeout: of the whole attempt, in seconds. Returns
    status, headers and body, of a redirect too: to follow it would take the key to another host. What it raises is a
    lost response, which is retried; but a ConfigurationError, a wrong certificate or an unknown host is not.
    """

    def __call__(
        self, method: str, url: str, headers: dict[str, str], body: bytes, timeout: float, /
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Sends one request."""


class _Item(NamedTuple):
    value: Any


class _Attempt(NamedTuple):
    """A signed request. file: what the body of a 200 is written into, in place of the response."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    file: _Download | None


class _Download:
    """Writes a document into a file, where each attempt begins at the same place."""

    def __init__(self, file: BinaryIO, sha256: str | None) -> None:
        self._file, self._start, self._sha256 = file, file.tell(), sha256
        self._digest = hashlib.sha256()

    def begin(self) -> None:
        self._digest = hashlib.sha256()
        self._file.seek(self._start)
        self._file.truncate()

    def write(self, chunk: bytes) -> None:
        self._digest.update(chunk)
        self._file.write(chunk)

    def check(self, _: Response) -> None:
        if self._sha256 not in {None, self._digest.hexdigest()}:
            raise NoResponseError(_DIFFERS)


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
        self._proxy = _proxy(self._url, proxy)
        self._tls = (tls or ssl.create_default_context()) if self._is_tls else None
        # The newest last, with the time of its last response.
        self.idle: list[tuple[float, HTTPConnection]] = []
        self._process = os.getpid()
        weakref.finalize(self, self.close, self.idle)

    def exchange(self, attempt: _Attempt) -> Response:
        """Sends a request and reads its response. Raises PsiError."""
        with self._response(attempt) as response:
            if attempt.file is None or response.status != 200:
                return Response(response.status, response.headers, self._read(response))
            attempt.file.begin()
            while chunk := self._read(response, _CHUNK):
                attempt.file.write(chunk)
            return Response(response.status, response.headers, b"")

    @contextmanager
    def _response(self, attempt: _Attempt) -> Iterator[HTTPResponse]:
        deadline = time.monotonic() + self._timeout
        target, headers = self._url.path + attempt.target, attempt.headers
        if self._proxy and not self._is_tls:
            target, headers = f"http://{self._url.netloc}{target}", headers | _credentials(self._proxy)
        connection = self._take()
        try:
            with self._failures():
                connection.response_class = partial(_TimedResponse, deadline)  # type: ignore[assignment]
                if connection.sock is None:
                    connection.timeout = _seconds_until(deadline)
                    connection.connect()
                connection.sock.settimeout(_seconds_until(deadline))
                connection.request(attempt.method, target, attempt.body or None, headers)
                response = connection.getresponse()
            yield response
        except BaseException:
            connection.close()
            raise
        # Closed by now unless it may be used again.
        if connection.sock is not None:
            self.idle.append((time.monotonic(), connection))

    def _read(self, response: HTTPResponse, size: int | None = None) -> bytes:
        with self._failures():
            content = response.read(size)
            if size and not content and response.length:
                raise IncompleteRead(content, response.length)
            return content

    @contextmanager
    def _failures(self) -> Iterator[None]:
        handled = sys.exception()
        try:
            yield
        except (OSError, HTTPException) as error:
            raise _failure(error, handled, self._url, self._proxy) from error

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


def _proxy(service: SplitResult, url: str | None) -> SplitResult | None:
    """The proxy before the service. url: as given; None for the environment's."""
    if url is None and not proxy_bypass(service.netloc):
        url = getproxies().get(service.scheme)
    if not url:
        return None
    with suppress(ValueError):
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme == "http" and parts.hostname and parts.port != 0:
            return parts
    raise ConfigurationError("the proxy is no URL such as http://proxy.example:3128")


def _failure(
    error: Exception, handled: BaseException | None, service: SplitResult, proxy: SplitResult | None = None
) -> PsiError:
    """What failed between here and the service; a library's errors have the cause within.

    handled: what the program was handling before, which is no cause.
    """
    cause: BaseException | None = error
    while cause is not None and cause is not handled:
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = getattr(cause, "verify_message", cause)
            return ConfigurationError(f"The certificate of {service.hostname} is not trusted: {reason}.")
        if isinstance(cause, socket.gaierror) and cause.errno != socket.EAI_AGAIN:
            return ConfigurationError(f"The host {(proxy or service).hostname} is unknown.")
        if re.match(r"(Tunnel connection failed: )?407\b", str(cause)):
            return ConfigurationError(_UNAUTHENTICATED)
        cause = cause.__cause__ or cause.__context__
    return NoResponseError(f"no response: {str(error) or type(error).__name__}")


def _message(headers: Iterable[tuple[str, str]]) -> Message:
    message = Message()
    for name, value in headers:
        message[name] = value
    return message


def _exchange(transport: Transport, base_url: str, timeout: float, attempt: _Attempt) -> Response:
    """Sends a request by a transport of the program's own. Raises PsiError."""
    method, target, headers, body, file = attempt
    handled = sys.exception()
    try:
        result = transport(method, base_url + target, headers, body, timeout)
    except PsiError:
        raise
    except Exception as error:  # Whatever it is made of.
        raise _failure(error, handled, urlsplit(base_url)) from error
    status, fields, content = result
    if file and status == 200:
        file.begin()
        file.write(content)
    return Response(status, _message(fields.items()), content)


def _credentials(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


# The client


class Client:
    """Calls the service with an API key. May be used by several threads.

    base_url, api_key, secret: by default the environment's PSI_BASE_URL, PSI_API_KEY, PSI_SECRET. timeout: of a
    whole attempt, in seconds. attempts: at most, for each request. max_wait: the longest Retry-After that is waited
    for, in seconds. proxy: its URL, by default the environment's HTTPS_PROXY, unless NO_PROXY names the host; empty for
    none. ssl_context: whom to trust, by default what the system trusts. transport: sends the requests, in place of
    these two. Raises ConfigurationError. The methods raise that, ApiError and NoResponseError; those that write take an
    idempotency_key, by default a new one. Connections are kept for the next request, and closed with the client.
    """

    def __init__(  # noqa: PLR0913 - each is a setting
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
        transport: Transport | None = None,
    ) -> None:
        self._configure(base_url, api_key, secret, attempts, max_wait)
        if transport and (proxy or ssl_context):
            raise ConfigurationError(_EITHER)
        connections = _Connections(self._url, timeout, "" if transport else proxy, ssl_context)
        self._close = partial(connections.close, connections.idle)
        self._exchange = partial(_exchange, transport, self._url, timeout) if transport else connections.exchange

    def _configure(
        self, base_url: str | None, api_key: str | None, secret: str | None, attempts: int, max_wait: float
    ) -> None:
        self._url = _base_url(_plain("PSI_BASE_URL", base_url))
        self._api_key = _plain("PSI_API_KEY", api_key)
        self._secret = _plain("PSI_SECRET", secret)
        self._attempts, self._max_wait = attempts, max_wait

    def close(self) -> None:
        """Closes the connections, as the end of the program does."""
        self._close()

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
        return self._iterated(self._pages("/v1/users", {"status": status, "limit": limit}, _items))

    def transactions(self, external_id: str, *, limit: int = 100) -> Iterator[Conversion]:
        """All conversions of a user, newest first. Amounts are texts: use Decimal, not float."""
        return self._iterated(self._pages(user_path(external_id, "transactions"), {"limit": limit}, _items))

    def documents(self, external_id: str, *, limit: int = 100) -> Iterator[Document]:
        """All documents of a user, newest first."""
        return self._iterated(self._pages(user_path(external_id, "documents"), {"limit": limit}, _items))

    def get_document(self, external_id: str, document_id: str, *, sha256: str | None = None) -> bytes:
        """The file of a document. sha256: as listed; a file that differs is requested again like a lost response."""
        path = user_path(external_id, "documents", document_id)
        return self._run(self._retried(lambda response: _file(response, sha256), "GET", path))

    def download_document(
        self, external_id: str, document_id: str, file: BinaryIO, *, sha256: str | None = None
    ) -> None:
        """Writes the file of a document into a file that is open for writing in binary, a part at a time.

        sha256: as listed. file: each attempt begins where it was at first, so it is seekable; after an error, it has
        what came until then.
        """
        path, download = user_path(external_id, "documents", document_id), _Download(file, sha256)
        return self._run(self._retried(download.check, "GET", path, file=download))

    def get_idempotency_key(self, idempotency_key: str) -> CompletedWrite | None:
        """The write that took effect under a key, or None: so far none has."""
        return self._run(self._completed(f"/v1/idempotency-keys/{quote(idempotency_key, safe='')}"))

    def events(self, cursor: str | None = None, *, limit: int = 100, poll_seconds: float | None = None) -> Events:
        """The events after a cursor, oldest first, by default from the oldest kept.

        poll_seconds: between looks for new ones; by default the events end with the newest.
        """
        return Events(cursor, lambda events: self._iterated(self._events(events, limit, poll_seconds)))

    def pages(self, path: str, query: Mapping[str, Any] | None = None) -> Iterator[Any]:
        """The pages of a list, each with items and nextCursor. query: a cursor is where to begin."""
        return self._iterated(self._pages(path, query or {}, lambda page: [page]))

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
        more: dict[str, Any] = {"query": query, "idempotency_key": idempotency_key, "headers": headers}
        return self._run(self._retried(lambda response: response, method, path, body, **more))

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
        return self._run(self._sent(method, target, body, idempotency_key, more_headers))

    def _result(
        self, method: str, path: str, body: Any = None, *, read: Callable[[Response], Any] | None = None, **more: Any
    ) -> Any:
        return self._run(self._retried(read or _object, method, path, body, **more))

    def _run(self, steps: _Steps[_Read]) -> _Read:
        outcome = None
        while True:
            try:
                step = _advance(steps, outcome)
            except StopIteration as end:
                return end.value
            outcome = self._take(step)

    def _iterated(self, steps: _Steps[None]) -> Iterator[Any]:
        outcome = None
        while True:
            try:
                step = _advance(steps, outcome)
            except StopIteration:
                return
            if isinstance(step, _Item):
                outcome = yield step.value
            else:
                outcome = self._take(step)

    def _take(self, step: Any) -> Response | PsiError | None:
        try:
            if isinstance(step, _Attempt):
                return self._exchange(step)
        except PsiError as error:
            return error
        time.sleep(step)
        return None

    def _sent(
        self,
        method: str,
        target: str,
        body: Any,
        idempotency_key: str | None,
        more_headers: Mapping[str, str] | None,
        file: _Download | None = None,
    ) -> _Steps[Response]:
        method, body = method.upper(), _content(body)
        key = _key_for(method, idempotency_key)
        timestamp = datetime.now(UTC).isoformat()
        canonical = canonical_request(method, target, timestamp, key, body)
        if re.search(r"[\0- \x7f]", target):
            raise ConfigurationError("The path is malformed.")
        target.encode("ascii")
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
        response: Response = yield _Attempt(method, target, headers, body, file)
        _log.debug("%s %s: %d, %s", method, target, response.status, response.headers.get("X-Request-Id"))
        if response.status == 407:
            raise ConfigurationError(_UNAUTHENTICATED)
        return response

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
        file: _Download | None = None,
    ) -> _Steps[_Read]:
        """What is read from the response; one that cannot be read is requested again like a lost one."""
        method, content = method.upper(), _content(body)
        given = {name: value for name, value in (query or {}).items() if value is not None}
        target = f"{path}?{urlencode(given)}" if given else path
        key = _key_for(method, idempotency_key)
        safe = bool(key) or method == "GET"
        for number in itertools.count(1):
            try:
                # Each attempt has the same key and bytes, a new timestamp and a new signature.
                return read(_succeeded((yield from self._sent(method, target, content, key, headers, file))))
            except PsiError as error:
                pause = _pause(error, number)
                if not (safe and error.is_temporary and number < self._attempts and pause <= self._max_wait):
                    raise
                _log.info("%s %s is retried in %.1f s: %s", method, target, pause, error)
            yield pause
        raise AssertionError

    def _completed(self, path: str) -> _Steps[Any]:
        try:
            return (yield from self._retried(_object, "GET", path))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def _pages(self, path: str, query: Mapping[str, Any], parts: Callable[[Any], Iterable[Any]]) -> _Steps[None]:
        cursor = query.get("cursor")
        while True:
            page = yield from self._retried(_object, "GET", path, query={**query, "cursor": cursor})
            yield from map(_Item, parts(page))
            cursor = page["nextCursor"]
            if cursor is None:
                return

    def _events(self, events: Any, limit: int, poll_seconds: float | None) -> _Steps[None]:
        while True:
            query = {"cursor": events.cursor, "limit": limit}
            page = yield from self._retried(_object, "GET", "/v1/events", query=query)
            yield from map(_Item, page["items"][:-1])
            events.cursor = page["nextCursor"]
            yield from map(_Item, page["items"][-1:])
            if not page["hasMore"]:
                if poll_seconds is None:
                    return
                yield poll_seconds


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
        return self._result("GET", "/v1/sandbox/webhooks", read=_listed)

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
        return self._result("GET", "/v1/sandbox/api-keys", read=_listed)

    def rotate_api_key(self, *, overlap_hours: int | None = None) -> RotatedKey:
        """Issues a key in place of the one that signs. overlap_hours: for which the old one is in force too."""
        return self._result("POST", "/v1/sandbox/api-keys/rotate", _overlap(overlap_hours), idempotency_key="")

    def revoke_api_key(self, api_key_prefix: str) -> RevokedKey:
        """Revokes a key, other than the one that signs."""
        return self._result("DELETE", _sandbox_path("api-keys", api_key_prefix))

    def requests(self, *, limit: int = 25) -> list[SandboxRequest]:
        """The last requests, newest first, with status, errors and diagnosis."""
        return self._result("GET", "/v1/sandbox/requests", query={"limit": limit}, read=_listed)

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

    def __init__(self, cursor: str | None, read: Callable[[Events], Iterator[Event]]) -> None:
        self.cursor = cursor
        self._events = read(self)

    def __next__(self) -> Event:
        return next(self._events)


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


def _listed(response: Response) -> Any:
    return _items(_object(response))


def _items(page: Any) -> Any:
    return page["items"]


def _advance(steps: _Steps[Any], outcome: Any) -> _Attempt | _Item | float:
    """The next step, after what came of the one before. Raises StopIteration with the result."""
    return steps.throw(outcome) if isinstance(outcome, PsiError) else steps.send(outcome)


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
