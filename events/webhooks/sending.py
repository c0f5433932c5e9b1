"""Sends webhooks: one request of HTTP for each attempt (contract, section 10).

An attempt resolves the host name once, checks every address, and connects to these very addresses, with the name for
TLS and `Host`. No proxy, no redirect, no cookie, and no connection of an earlier attempt, whose address was checked
then.

The head of the response is the result, whatever its body does, so a client that reads framed bodies does not fit:
aiohttp and h11 refuse heads that frame the body wrongly. `http_response.py` reads it.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import structlog
from aiohappyeyeballs import start_connection
from django.conf import settings
from django.core.exceptions import ValidationError
from standardwebhooks.webhooks import Webhook

from events.webhooks import addresses
from events.webhooks.http_response import MAX_HEAD_BYTES, Head, MalformedResponseError, read_head, skip_body
from events.webhooks.leases import Lease
from events.webhooks.results import AttemptResult, parse_retry_after

log = structlog.get_logger("events.webhooks.sending")

USER_AGENT = "partner-service-webhooks/1"
# The time of an attempt, name look-up and response included.
TIMEOUT_SECONDS = 15.0
# The next address is tried beside one that has not responded for so long (RFC 8305).
_NEXT_ADDRESS_SECONDS = 0.25
# How long the other side may take to close TLS, after the attempt.
_CLOSING_SECONDS = 1.0
_RETRY_AFTER_STATUSES = (429, 503)
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
    """Return the headers that verify a body, as Standard Webhooks 1.0 has them (contract, section 10).

    at: the time of the attempt. secrets: each signs, newest first.
    """
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
        """Send a delivery once and log the result. It raises nothing but a cancellation.

        seconds: that it may take, TIMEOUT_SECONDS by default.
        """
        at, begun = datetime.now(UTC), time.perf_counter()
        result: dict[str, Any]
        try:
            if lease.secrets:
                result = await self._post(lease, at, TIMEOUT_SECONDS if seconds is None else seconds)
            else:
                # None can be decrypted.
                result = {"error": "secret"}
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
        target, body = addresses.parse(lease.url), lease.body
        headers = attempt_headers(event_id=lease.event_id, at=at, body=body, secrets=lease.secrets)
        async with asyncio.timeout_at(deadline):
            reader, writer = await self._connect(target)
        try:
            writer.write(_request(target, headers, body.encode()))
            async with asyncio.timeout_at(deadline):
                head = await read_head(reader)
            # The receiver's server may report a failure otherwise.
            with suppress(OSError):
                async with asyncio.timeout_at(deadline):
                    await skip_body(reader, head)
        finally:
            writer.close()
        return {"status": head.status, "retry_after": _retry_after(head)}

    async def _connect(self, target: addresses.Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the addresses that were checked, without a second look-up."""
        found = await addresses.resolve(target.host, target.port)
        connected = await start_connection(
            [_address_info(one, target.port) for one in found],
            happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS,
            interleave=1,
        )
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


def _address_info(address: addresses.Address, port: int) -> Any:
    """The address as `socket.getaddrinfo` writes it."""
    if address.version == 4:  # noqa: PLR2004
        return (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (str(address), port))
    return (socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (str(address), port, 0, 0))


def _request(target: addresses.Target, headers: dict[str, str], body: bytes) -> bytes:
    """Return the request. `addresses.parse` leaves no character in the URL that could end a line."""
    _scheme, _, authority, path = target.url.split("/", 3)
    lines = {
        "Host": authority,
        "Accept": "*/*",
        "Connection": "close",
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "Content-Length": str(len(body)),
        **headers,
    }
    head = [f"POST /{path} HTTP/1.1", *map(": ".join, lines.items()), "", ""]
    return "\r\n".join(head).encode("ascii") + body


def _retry_after(head: Head) -> Any:
    after = head.headers.get("Retry-After", "") if head.status in _RETRY_AFTER_STATUSES else ""
    return parse_retry_after(after, now=datetime.now(UTC)) if after else None


def _code(error: Exception) -> str:
    """Return the code of an error, as in `WebhookDelivery.attempts`."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _CERTIFICATE_ERRORS.get(error.verify_code, "tls")
    for kind, code in _ERRORS:
        if isinstance(error, kind):
            return code
    log.error("webhook attempt failed unexpectedly", exc_info=error)
    return "internal"
