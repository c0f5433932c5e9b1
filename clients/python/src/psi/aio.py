"""The client for asyncio: what psi.Client does, sent by httpx, which is to be installed beside it.

async with AsyncClient() as client:
    async for user in client.users(status="active"):
        ...
"""

from __future__ import annotations

import asyncio
import re
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self
from urllib.parse import urlsplit

from psi import (
    _CHUNK,
    _EITHER,
    _MAX_IDLE,
    Client,
    ConfigurationError,
    NoResponseError,
    PsiError,
    Response,
    _advance,
    _Attempt,
    _failure,
    _Item,
    _message,
    _proxy,
)

try:
    import httpx
except ModuleNotFoundError as error:
    raise ImportError("psi.aio needs httpx: pip install 'httpx>=0.28,<1'") from error

if TYPE_CHECKING:
    from psi.types import (
        AddedWebhook,
        ApiKey,
        CompletedWrite,
        Conversion,
        CreatedUser,
        Document,
        Event,
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

# Requests at once; the others wait for their turn before their timeout begins.
_MAX_REQUESTS = 100


class AsyncClient:
    """Calls the service with an API key, from one event loop of asyncio.

    The settings, methods and errors are those of psi.Client; lists and events are asynchronous iterators. Cancelling a
    task ends its request; a write that was sent may take effect. transport: one of httpx, in place of proxy and
    ssl_context. Connections are kept for the next request until `close`, or the end of `async with`.
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
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        if transport and (proxy or ssl_context):
            raise ConfigurationError(_EITHER)
        # Its methods return what is to be awaited or iterated.
        self._calls: Any = _Calls(base_url, api_key, secret, attempts=attempts, max_wait=max_wait)
        self._http = _Http(self._calls.url, timeout, "" if transport else proxy, ssl_context, transport)
        self._calls.exchange = self._http.exchange

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections, as the end of the program does."""
        await self._http.close()

    @property
    def sandbox(self) -> AsyncSandbox:
        """What sandbox partners can do in addition."""
        return AsyncSandbox(self._calls.sandbox)

    async def ping(self) -> Ping:
        """The partner of the key, its mode, and the service's time."""
        return await self._calls.ping()

    async def create_user(self, user: NewUser, *, idempotency_key: str | None = None) -> CreatedUser:
        """Registers a user. ApiError: 400 names the fields, 409 is a known externalId, 422 a minor."""
        return await self._calls.create_user(user, idempotency_key=idempotency_key)

    async def update_user(
        self, external_id: str, changes: UserChanges, *, idempotency_key: str | None = None
    ) -> UserSummary:
        """Changes the fields that are sent."""
        return await self._calls.update_user(external_id, changes, idempotency_key=idempotency_key)

    async def get_user(self, external_id: str) -> UserSummary:
        """The status of a user."""
        return await self._calls.get_user(external_id)

    async def respond_to_requirement(
        self, external_id: str, requirement_id: str, note: str, *, idempotency_key: str | None = None
    ) -> Requirement:
        """Answers a requirement of a user with a note; an update that has all of its fields answers it too."""
        return await self._calls.respond_to_requirement(
            external_id, requirement_id, note, idempotency_key=idempotency_key
        )

    def users(self, *, status: str | None = None, limit: int = 100) -> AsyncIterator[ListedUser]:
        """All users, newest first, without personal data. limit: of a page."""
        return self._calls.users(status=status, limit=limit)

    def transactions(self, external_id: str, *, limit: int = 100) -> AsyncIterator[Conversion]:
        """All conversions of a user, newest first. Amounts are texts: use Decimal, not float."""
        return self._calls.transactions(external_id, limit=limit)

    def documents(self, external_id: str, *, limit: int = 100) -> AsyncIterator[Document]:
        """All documents of a user, newest first."""
        return self._calls.documents(external_id, limit=limit)

    async def get_document(self, external_id: str, document_id: str, *, sha256: str | None = None) -> bytes:
        """The file of a document. sha256: as listed; a file that differs is requested again like a lost response."""
        return await self._calls.get_document(external_id, document_id, sha256=sha256)

    async def download_document(
        self, external_id: str, document_id: str, file: BinaryIO, *, sha256: str | None = None
    ) -> None:
        """Writes the file of a document into a file that is open for writing in binary, a part at a time.

        sha256: as listed. file: each attempt begins where it was at first, so it is seekable; after an error, it has
        what came until then.
        """
        return await self._calls.download_document(external_id, document_id, file, sha256=sha256)

    async def get_idempotency_key(self, idempotency_key: str) -> CompletedWrite | None:
        """The write that took effect under a key, or None: so far none has."""
        return await self._calls.get_idempotency_key(idempotency_key)

    def events(self, cursor: str | None = None, *, limit: int = 100, poll_seconds: float | None = None) -> AsyncEvents:
        """The events after a cursor, oldest first, by default from the oldest kept.

        poll_seconds: between looks for new ones; by default the events end with the newest.
        """
        return self._calls.events(cursor, limit=limit, poll_seconds=poll_seconds)

    def pages(self, path: str, query: Mapping[str, Any] | None = None) -> AsyncIterator[Any]:
        """The pages of a list, each with items and nextCursor. query: a cursor is where to begin."""
        return self._calls.pages(path, query)

    async def request(
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
        return await self._calls.request(
            method, path, body, query=query, idempotency_key=idempotency_key, headers=headers
        )

    async def send(
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
        return await self._calls.send(method, target, body, idempotency_key, more_headers)


class AsyncSandbox:
    """What sandbox partners can do in addition: simulate what compliance does, set up webhooks, and manage their keys.

    Methods whose response has a secret send no Idempotency-Key and are not retried: that response is given once.
    """

    def __init__(self, calls: Any) -> None:
        self._calls = calls

    async def simulate_decision(
        self, external_id: str, decision: SimulatedDecision, *, idempotency_key: str | None = None
    ) -> UserSummary:
        """Changes the status of a user. ApiError: 409 is a move that is not allowed."""
        return await self._calls.simulate_decision(external_id, decision, idempotency_key=idempotency_key)

    async def simulate_transactions(
        self, external_id: str, conversions: Sequence[SimulatedConversion], *, idempotency_key: str | None = None
    ) -> RecordedConversions:
        """Records up to 100 conversions, all or none."""
        return await self._calls.simulate_transactions(external_id, conversions, idempotency_key=idempotency_key)

    async def simulate_document(
        self, external_id: str, document: SimulatedDocument, *, idempotency_key: str | None = None
    ) -> Document:
        """Publishes a sample."""
        return await self._calls.simulate_document(external_id, document, idempotency_key=idempotency_key)

    async def simulate_requirement(
        self, external_id: str, requirement: SimulatedRequirement, *, idempotency_key: str | None = None
    ) -> Requirement:
        """Opens a requirement."""
        return await self._calls.simulate_requirement(external_id, requirement, idempotency_key=idempotency_key)

    async def simulate_closing(
        self, external_id: str, requirement_id: str, *, idempotency_key: str | None = None
    ) -> Requirement:
        """Closes a requirement."""
        return await self._calls.simulate_closing(external_id, requirement_id, idempotency_key=idempotency_key)

    async def webhooks(self) -> list[Webhook]:
        """The webhooks, without their secrets."""
        return await self._calls.webhooks()

    async def add_webhook(self, settings: WebhookSettings) -> AddedWebhook:
        """Adds a webhook. Its secret is shown this once."""
        return await self._calls.add_webhook(settings)

    async def remove_webhook(self, webhook_id: str) -> RemovedWebhook:
        """Removes a webhook."""
        return await self._calls.remove_webhook(webhook_id)

    async def test_webhook(self, webhook_id: str) -> WebhookTestResult:
        """Has a webhook.test sent, and returns how the webhook responded."""
        return await self._calls.test_webhook(webhook_id)

    async def rotate_webhook_secret(self, webhook_id: str, *, overlap_hours: int | None = None) -> RotatedSecret:
        """Gives a webhook another secret. overlap_hours: for which the old one signs too."""
        return await self._calls.rotate_webhook_secret(webhook_id, overlap_hours=overlap_hours)

    async def api_keys(self) -> list[ApiKey]:
        """The keys in force, newest first, without their secrets."""
        return await self._calls.api_keys()

    async def rotate_api_key(self, *, overlap_hours: int | None = None) -> RotatedKey:
        """Issues a key in place of the one that signs. overlap_hours: for which the old one is in force too."""
        return await self._calls.rotate_api_key(overlap_hours=overlap_hours)

    async def revoke_api_key(self, api_key_prefix: str) -> RevokedKey:
        """Revokes a key, other than the one that signs."""
        return await self._calls.revoke_api_key(api_key_prefix)

    async def requests(self, *, limit: int = 25) -> list[SandboxRequest]:
        """The last requests, newest first, with status, errors and diagnosis."""
        return await self._calls.requests(limit=limit)

    async def get_request(self, request_id: str) -> SandboxRequest:
        """One of the last requests."""
        return await self._calls.get_request(request_id)


class AsyncEvents(AsyncIterator["Event"]):
    """Events in the feed's order.

    cursor: where to continue once you have handled the event that you have. Store it after that, not before: after a
    crash, up to a page of events comes again, so handling one twice must have the same result as once.
    """

    def __init__(self, cursor: str | None, read: Callable[[AsyncEvents], AsyncIterator[Event]]) -> None:
        self.cursor = cursor
        self._events = read(self)

    async def __anext__(self) -> Event:
        return await anext(self._events)


class _Calls(Client):
    """The operations of psi.Client, whose steps are taken with asyncio: each method returns what is to be awaited."""

    exchange: Callable[[_Attempt], Any]

    def __init__(
        self, base_url: str | None, api_key: str | None, secret: str | None, *, attempts: int, max_wait: float
    ) -> None:
        self._configure(base_url, api_key, secret, attempts, max_wait)

    @property
    def url(self) -> str:
        return self._url

    def events(self, cursor: str | None = None, *, limit: int = 100, poll_seconds: float | None = None) -> Any:
        return AsyncEvents(cursor, lambda events: self._iterated(self._events(events, limit, poll_seconds)))

    async def _run(self, steps: Any) -> Any:  # type: ignore[override]
        outcome = None
        while True:
            try:
                step = _advance(steps, outcome)
            except StopIteration as end:
                return end.value
            outcome = await self._take(step)

    async def _iterated(self, steps: Any) -> Any:
        outcome = None
        while True:
            try:
                step = _advance(steps, outcome)
            except StopIteration:
                return
            if isinstance(step, _Item):
                outcome = yield step.value
            else:
                outcome = await self._take(step)

    async def _take(self, step: Any) -> Any:  # type: ignore[override]
        try:
            if isinstance(step, _Attempt):
                return await self.exchange(step)
        except PsiError as error:
            return error
        await asyncio.sleep(step)
        return None


class _Http:
    """Sends requests to one host by httpx, which keeps the connections."""

    def __init__(
        self,
        base_url: str,
        timeout: float,
        proxy: str | None,
        tls: ssl.SSLContext | None,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self._base_url, self._url, self._timeout = base_url, urlsplit(base_url), timeout
        self._proxy = _proxy(self._url, proxy)
        self._turn = asyncio.Semaphore(_MAX_REQUESTS)
        # No client of httpx: it would follow redirects, keep cookies and read ~/.netrc.
        self._transport = transport or httpx.AsyncHTTPTransport(
            verify=tls or ssl.create_default_context(),
            proxy=self._proxy.geturl() if self._proxy else None,
            limits=httpx.Limits(max_connections=_MAX_REQUESTS, keepalive_expiry=_MAX_IDLE),
            trust_env=False,
        )

    async def exchange(self, attempt: _Attempt) -> Response:
        """Sends a request and reads its response within the timeout. Raises PsiError."""
        # httpx resolves a path such as /v1/users/.. unless it is encoded.
        target = re.sub(r"(?<=/)\.\.?(?=[/?]|$)", lambda dots: dots[0].replace(".", "%2E"), attempt.target)
        handled = sys.exception()
        headers = {"Accept-Encoding": "identity"} | attempt.headers
        try:
            request = httpx.Request(attempt.method, self._base_url + target, headers=headers, content=attempt.body)
            async with self._turn, asyncio.timeout(self._timeout):
                return await self._read(await self._transport.handle_async_request(request), attempt)
        except httpx.InvalidURL as error:
            raise ConfigurationError("The path is malformed.") from error
        except httpx.LocalProtocolError as error:
            raise ValueError(f"the request cannot be sent: {error}") from error
        except TimeoutError as error:
            raise NoResponseError("no response: timed out") from error
        except httpx.HTTPError as error:
            raise _failure(error, handled, self._url, self._proxy) from error

    @staticmethod
    async def _read(response: httpx.Response, attempt: _Attempt) -> Response:
        content = b""
        try:
            if attempt.file is None or response.status_code != 200:
                content = await response.aread()
            else:
                attempt.file.begin()
                async for chunk in response.aiter_bytes(_CHUNK):
                    attempt.file.write(chunk)
        finally:
            await response.aclose()
        return Response(response.status_code, _message(response.headers.multi_items()), content)

    async def close(self) -> None:
        await self._transport.aclose()
