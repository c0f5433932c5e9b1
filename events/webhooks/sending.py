"""Sends webhooks: one request of HTTP for each attempt (contract, section 10).

An attempt resolves the host name once, checks every address, and connects to these very addresses, with the name for
TLS and `Host`. No proxy, no redirect, no cookie, and no connection of an earlier attempt, whose address was checked
then.

The head of the response is the result, whatever its body does, so a client that reads framed bodies does not fit:
aiohttp and h11 refuse heads that frame the body wrongly. The status matters and `Retry-After`; all other headers may
be as they like.
"""

import asyncio
import re
import socket
import ssl
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

import structlog
from aiohappyeyeballs import start_connection
from django.conf import settings
from django.core.exceptions import ValidationError
from standardwebhooks.webhooks import Webhook

from events.webhooks import addresses
from events.webhooks.deliveries import Lease
from events.webhooks.results import AttemptResult, parse_retry_after

log = structlog.get_logger("events.webhooks.sending")

USER_AGENT = "partner-service-webhooks/1"
# The time of an attempt, name look-up and response included.
TIMEOUT_SECONDS = 15.0
# The next address is tried beside one that has not responded for so long (RFC 8305).
_NEXT_ADDRESS_SECONDS = 0.25
# How long the other side may take to close TLS, after the attempt.
_CLOSING_SECONDS = 1.0
# The status line and headers, interim responses (1xx) included, have at most so many bytes.
MAX_HEAD_BYTES = 64 * 1024
# How much of the body is read; none of it is kept.
MAX_BODY_BYTES = 64 * 1024
_CHUNK_BYTES = 16 * 1024
_STATUS_LINE = re.compile(rb"HTTP/1\.[0-9] +([1-9][0-9]{2})(?: [^\r\n]*)?\r?\n")
# A chunked body ends with it.
_LAST_CHUNK = b"0\r\n\r\n"


class MalformedResponseError(Exception):
    """The head is not HTTP, is longer than MAX_HEAD_BYTES, or breaks off."""


# The order matters, since most are kinds of later ones.
_ERRORS: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, "timeout"),
    (addresses.RefusedAddressError, "address"),
    (ValidationError, "address"),
    (socket.gaierror, "dns"),
    (ssl.SSLError, "tlsProtocol"),
    (MalformedResponseError, "protocol"),
    (OSError, "connect"),
)
# OpenSSL's codes of verification (X509_V_ERR_…).
_CERTIFICATE_ERRORS = {
    10: "tlsExpired",
    18: "tlsSelfSigned",
    # OpenSSL cannot tell a missing intermediate certificate from an authority that is not trusted.
    20: "tlsIssuer",
    21: "tlsIssuer",
    # The receiver sent its authority's own certificate, which is not trusted.
    19: "tlsIssuer",
    62: "tlsName",
}


def attempt_headers(*, event_id: UUID, at: datetime, body: str, secrets: Iterable[str]) -> dict[str, str]:
    """Return the headers that verify a body, as Standard Webhooks 1.0 has them; each of the secrets signs."""
    signatures = [Webhook(secret).sign(str(event_id), at.astimezone(UTC), body) for secret in secrets]
    return {
        "webhook-id": str(event_id),
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


class Sender:
    """Makes attempts, any number at once, in one event loop."""

    def __init__(self) -> None:
        self._tls = ssl.create_default_context(cafile=settings.WEBHOOK_CA_BUNDLE or None)

    async def attempt(self, lease: Lease, seconds: float | None = None) -> AttemptResult:
        """Send a delivery once, within `seconds`, and log the result. It raises nothing but a cancellation."""
        at, begun = datetime.now(UTC), time.perf_counter()
        # Where there are none, none can be decrypted.
        result: dict[str, Any] = {"error": "secret"}
        try:
            if lease.secrets:
                result = await self._post(lease, at, seconds or TIMEOUT_SECONDS)
        except Exception as error:  # noqa: BLE001 - one endpoint must not end the others' deliveries
            result = {"error": _code(error)}
        outcome = AttemptResult(at, round((time.perf_counter() - begun) * 1000), **result)
        log.info(
            "webhook attempt",
            webhook=str(lease.endpoint_id),
            event_id=str(lease.event_id),
            attempt=lease.attempt_count + 1,
            result=outcome.error or outcome.status,
            milliseconds=outcome.milliseconds,
        )
        return outcome

    async def _post(self, lease: Lease, at: datetime, seconds: float) -> dict[str, Any]:
        """Return the status and `Retry-After`. Raises one of _ERRORS."""
        deadline = asyncio.get_running_loop().time() + seconds
        target, body = addresses.parse(lease.url), lease.body.encode()
        _scheme, _, authority, path = target.url.split("/", 3)
        headers = {
            "Host": authority,
            "Accept": "*/*",
            "Connection": "close",
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,
            "Content-Length": str(len(body)),
            **attempt_headers(event_id=lease.event_id, at=at, body=lease.body, secrets=lease.secrets),
        }
        # `addresses.parse` leaves no character in the URL that could end a line.
        request = "\r\n".join([f"POST /{path} HTTP/1.1", *map(": ".join, headers.items()), "", ""])
        async with asyncio.timeout_at(deadline):
            reader, writer = await self._connect(target)
        try:
            writer.write(request.encode("ascii") + body)
            async with asyncio.timeout_at(deadline):
                status, head = await _read_head(reader)
            # The receiver's server may report a failure where its response is not read.
            with suppress(OSError):
                async with asyncio.timeout_at(deadline):
                    await _skip_body(reader, status, head)
        finally:
            writer.close()
        after = _header(head, b"Retry-After") if status in {429, 503} else ""
        return {"status": status, "retry_after": parse_retry_after(after, now=datetime.now(UTC))}

    async def _connect(self, target: addresses.Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the addresses that were checked, without a second look-up."""
        found = await asyncio.wrap_future(addresses.look_up(target.host, target.port))
        connected = await start_connection(found, happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS, interleave=1)
        try:
            return await asyncio.open_connection(
                sock=connected,
                ssl=self._tls,
                server_hostname=target.host,
                ssl_shutdown_timeout=_CLOSING_SECONDS,
                limit=MAX_HEAD_BYTES,
            )
        except BaseException:
            connected.close()
            raise


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The status and headers of the response, past interim ones. Raises MalformedResponseError, OSError."""
    left = MAX_HEAD_BYTES
    while True:
        lines: list[bytes] = []
        while not lines or lines[-1] not in {b"\r\n", b"\n"}:
            try:
                lines.append(await reader.readline())
            except ValueError:
                # It is longer than the reader's limit.
                raise MalformedResponseError from None
            left -= len(lines[-1])
            if left < 0 or not lines[-1].endswith(b"\n"):
                raise MalformedResponseError
        match = _STATUS_LINE.fullmatch(lines[0])
        if match is None:
            raise MalformedResponseError
        status = int(match[1])
        if status >= HTTPStatus.OK or status == HTTPStatus.SWITCHING_PROTOCOLS:
            return status, b"".join(lines[1:])


async def _skip_body(reader: asyncio.StreamReader, status: int, head: bytes) -> None:
    """Read the body until its end or MAX_BODY_BYTES. Raises OSError where the connection breaks."""
    # The end of the connection is the body's; where the receiver does not close it, a length or a last chunk is.
    length, is_chunked = _header(head, b"Content-Length"), bool(_header(head, b"Transfer-Encoding"))
    left = 0 if status in {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED} else MAX_BODY_BYTES
    if not is_chunked and re.fullmatch("[0-9]{1,18}", length):
        left = min(left, int(length))
    while left > 0 and (chunk := await reader.read(min(left, _CHUNK_BYTES))):
        left -= len(chunk)
        if is_chunked and chunk.endswith(_LAST_CHUNK):
            return


def _header(head: bytes, name: bytes) -> str:
    match = re.search(rb"(?im)^%b:([^\r\n]*)" % name, head)
    return match[1].decode("latin-1").strip() if match else ""


def _code(error: Exception) -> str:
    """Return the code of an error, as in `WebhookDelivery.attempts`."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _CERTIFICATE_ERRORS.get(error.verify_code, "tls")
    for kind, code in _ERRORS:
        if isinstance(error, kind):
            return code
    log.error("webhook attempt failed unexpectedly", exc_info=error)
    return "internal"
