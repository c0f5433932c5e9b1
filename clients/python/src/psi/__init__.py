"""Calls the Partner Service Interface with httpx. Python 3.11 or newer; one file that may be copied as psi.py.

with httpx.Client(**psi.options()) as client:  # of PSI_BASE_URL, PSI_API_KEY and PSI_SECRET
    psi.send(client, "PATCH", psi.path("users", "cust-1001"), json={"city": "Ottawa"})
"""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import random
import re
import time
import uuid
from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

import httpx


class PsiError(Exception):
    """What this module raises. is_temporary: whether the same request may succeed later."""

    is_temporary = False


class SettingError(PsiError, ValueError):
    """A setting is missing or malformed. The message names it and does not contain its value."""


class WebhookError(PsiError):
    """A webhook is not signed by the service, or is too old: respond with 401."""


class NoResponseError(PsiError):
    """No response, or a damaged one. A write may have taken effect: retry it under the same Idempotency-Key."""

    is_temporary = True


class ApiError(PsiError):
    """The service refused or failed. status: of HTTP. error: its code; empty if a proxy responded in its place.
    message: for people. request_id: for support. field_errors: each with field, code and message.
    """

    def __init__(self, response: httpx.Response) -> None:
        self.response, self.status, body = response, response.status_code, _object(response.content) or {}
        self.is_temporary = self.status in {408, 429, 500, 502, 503, 504}
        texts = {name: value for name, value in body.items() if isinstance(value, str)}
        self.error, self.request_id = texts.get("error", ""), texts.get("requestId", "")
        self.message = texts.get("message") or "The response is not the service's."
        fields, diagnosis = body.get("fieldErrors"), body.get("diagnosis")
        self.field_errors = [one for one in fields if isinstance(one, dict)] if isinstance(fields, list) else []
        text = f"{self.status} {self.error}".strip() + f": {self.message}"
        text += "".join(f" {one.get('field')}: {one.get('message')}" for one in self.field_errors)
        # In the sandbox, a refused signature has a diagnosis.
        text += f" {diagnosis.get('message')}" if isinstance(diagnosis, dict) else ""
        super().__init__(f"{text} (request {self.request_id})" if self.request_id else text)


def canonical_request(method: str, target: str, timestamp: str, idempotency_key: str, body: bytes) -> str:
    """Return the six lines to sign. target: path from /v1 on and query, as sent. Raises UnicodeError: not UTF-8."""
    path, _, query = target.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True, errors="strict")
    encoded = sorted((quote(name, safe=""), quote(value, safe="")) for name, value in pairs)
    path, query = quote(unquote(path, errors="strict"), safe="/"), "&".join("=".join(pair) for pair in encoded)
    return "\n".join((method, path, query, timestamp, idempotency_key, hashlib.sha256(body).hexdigest()))


def sign(secret: str, canonical: str) -> str:
    """Return the signature: the hex HMAC-SHA256 under the secret as issued."""
    return hmac.new(secret.encode(), canonical.encode(), hashlib.sha256).hexdigest()


class Auth(httpx.Auth):
    """Signs the requests of a client. prefix: the path of its base URL, which is sent but not signed (/gateway)."""

    requires_request_body = True

    def __init__(self, api_key: str, secret: str, prefix: str = "") -> None:
        self._api_key, self._secret, self._prefix = api_key, secret, prefix.rstrip("/")

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the three headers. Raises UnicodeError where path or query is not UTF-8."""
        timestamp, key = datetime.now(UTC).isoformat(), request.headers.get("Idempotency-Key", "")
        target = request.url.raw_path.decode().removeprefix(self._prefix)
        canonical = canonical_request(request.method, target, timestamp, key, request.content)
        request.headers["X-Api-Key"] = self._api_key
        request.headers["X-Request-Timestamp"] = timestamp
        request.headers["X-Request-Signature"] = sign(self._secret, canonical)
        yield request


def setting(name: str, given: str | None = None) -> str:
    """Return a value or else an environment variable, without white space around it. Raises SettingError."""
    value = (given or os.environ.get(name, "")).strip(" \t\r\n\ufeff\xa0")
    if not re.fullmatch("[!-~]+", value):
        raise SettingError(f"{name} {'has characters that do not belong there' if value else 'is not set'}")
    return value


def options(base_url: str | None = None, api_key: str | None = None, secret: str | None = None) -> dict[str, Any]:
    """Return the options of httpx.Client or httpx.AsyncClient, by default of the environment. Raises SettingError."""
    url = setting("PSI_BASE_URL", base_url)
    found = re.fullmatch(r"(?i)https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?((/[^/?#\\]+)*)/*", url)
    if not found or found[3].endswith("/v1"):
        raise SettingError("PSI_BASE_URL is not like https://partners.example: no /v1, ?, #, user name or password")
    auth = Auth(setting("PSI_API_KEY", api_key), setting("PSI_SECRET", secret), found[3])
    return {"base_url": url, "auth": auth, "timeout": 30.0}


def path(*names: str) -> str:
    """Return the path of these names below /v1, percent-encoded, such as of "users", external_id, "transactions"."""
    if not all(names) or {".", ".."}.intersection(names):
        raise ValueError("a part of a path is empty, or one or two dots")
    return "/".join(["/v1", *(quote(name, safe="") for name in names)])


def send(client: httpx.Client, method: str, path: str, **more: Any) -> httpx.Response:
    """Send a request, and retry it after a failure that is temporary. Return the response of a success.

    path: from /v1 on, percent-encoded. more: what httpx takes (json, content, params, headers), and idempotency_key (by
    default a new one for a write; with an empty one it is not retried), attempts (5), max_wait (60.0: the longest
    Retry-After that is waited for, in seconds). Raises ApiError, NoResponseError; ValueError for what nobody can send.
    """
    call = _Call(client, method, path, more)
    while True:
        try:
            return call.checked(client.send(call.request, follow_redirects=False))
        except (httpx.RequestError, PsiError) as error:
            time.sleep(call.pause(error))


async def send_async(client: httpx.AsyncClient, method: str, path: str, **more: Any) -> httpx.Response:
    """Do what `send` does, with asyncio."""
    call = _Call(client, method, path, more)
    while True:
        try:
            return call.checked(await client.send(call.request, follow_redirects=False))
        except (httpx.RequestError, PsiError) as error:
            await asyncio.sleep(call.pause(error))


def find_write(client: httpx.Client, idempotency_key: str) -> Any:
    """Return the write that took effect under a key, or None: so far none has. Raises ApiError: it cannot be told."""
    try:
        return send(client, "GET", path("idempotency-keys", str(uuid.UUID(idempotency_key)))).json()
    except ApiError as error:
        # A 404 of a proxy says nothing about the write.
        is_ours = error.request_id == error.response.headers.get("X-Request-Id", "none")
        if is_ours and (error.status, error.error) == (404, "not_found"):
            return None
        raise


def items(client: httpx.Client, path: str, **params: Any) -> Iterator[Any]:
    """Iterate over all items of a list, newest first. Pages are requested as they are needed."""
    while True:
        page = send(client, "GET", path, params={"limit": 100} | params).json()
        yield from page["items"]
        if (cursor := page["nextCursor"]) is None:
            return
        params["cursor"] = cursor


def events(client: httpx.Client, cursor: str | None = None, limit: int = 100) -> Iterator[tuple[Any, str | None]]:
    """Iterate over the events after a cursor, oldest first, each with the cursor to store once it is handled.
    It ends with the newest: wait, and begin again at the stored cursor. After a crash up to a page comes again.
    """
    has_more = True
    while has_more:
        page = send(
            client, "GET", "/v1/events", params={"limit": limit} | ({"cursor": cursor} if cursor else {})
        ).json()
        yield from [(event, cursor) for event in page["items"][:-1]]
        cursor, has_more = page["nextCursor"], page["hasMore"]
        yield from [(event, cursor) for event in page["items"][-1:]]


def verify_webhook(body: bytes, headers: Mapping[str, str], secrets: Sequence[str], tolerance: float = 300.0) -> Any:
    """Return the event of a webhook that the service has signed (Standard Webhooks 1.0).

    body: the bytes as they came. secrets: `whsec_…`, both while you change from one to the next. tolerance: the
    greatest age, in seconds. Raises WebhookError; SettingError if a secret is malformed.
    """
    try:
        keys = [base64.b64decode(secret.strip().removeprefix("whsec_"), validate=True) for secret in secrets]
    except ValueError:
        keys = []
    # Everybody can sign under an empty key.
    if not keys or min(map(len, keys)) < 32:
        raise SettingError("A webhook's secret is whsec_ and base64 of 32 bytes.")
    given = {name.lower(): value.encode(errors="replace") for name, value in headers.items()}
    message_id, at, signatures = (given.get(f"webhook-{name}", b"") for name in ("id", "timestamp", "signature"))
    if not re.fullmatch(b"[0-9]{1,12}", at) or abs(time.time() - int(at)) > tolerance:
        raise WebhookError("The time of the webhook is missing, malformed, or too far from this clock.")
    signed = b"%b.%b.%b" % (message_id, at, body)
    expected = [b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256")) for key in keys]
    if not any(hmac.compare_digest(one, other) for one in expected for other in signatures.split()):
        raise WebhookError("No signature of the webhook is right.")
    if (event := _object(body)) is None:
        raise WebhookError("The body of the webhook is no JSON object.")
    return event


class _Call:
    def __init__(self, client: httpx.Client | httpx.AsyncClient, method: str, path: str, more: dict[str, Any]) -> None:
        key, attempts = more.pop("idempotency_key", None), more.pop("attempts", 5)
        self._max_wait, self._number = more.pop("max_wait", 60.0), 0
        if not path.startswith("/v1/"):
            raise ValueError("a path begins with /v1/")
        self.request = client.build_request(method.upper(), path, **more)
        headers, is_write = self.request.headers, self.request.method in {"POST", "PATCH"}
        if is_write:
            headers.setdefault("Content-Type", "application/json")
        if key or (is_write and key is None):
            headers.setdefault("Idempotency-Key", key or str(uuid.uuid4()))
        self._attempts = attempts if "Idempotency-Key" in headers or self.request.method == "GET" else 1

    def checked(self, response: httpx.Response) -> httpx.Response:
        if not response.is_success:
            raise ApiError(response)
        # A success is a JSON object, or the file of a document; all else is of a proxy.
        if _object(response.content) is None and "Content-Disposition" not in response.headers:
            raise NoResponseError(f"The response is not the service's: {response.status_code} without a JSON object.")
        return response

    def pause(self, error: Exception) -> float:
        """Seconds until the next attempt: longer each time, and not the same for all who wait. Raises PsiError."""
        self._number += 1
        seconds = min(2.0 ** min(self._number, 8) / 4, 30.0) * random.uniform(0.5, 1)
        failure = error if isinstance(error, PsiError) else NoResponseError(f"no response: {error!r}")
        after = failure.response.headers.get("Retry-After", "") if isinstance(failure, ApiError) else ""
        if re.fullmatch("[0-9]{1,9}", after):
            seconds = int(after) * random.uniform(1, 1.1)
        if not failure.is_temporary or self._number >= self._attempts or seconds > self._max_wait:
            raise failure
        return seconds


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
