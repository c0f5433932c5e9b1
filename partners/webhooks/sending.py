"""Sends webhooks: one request of HTTP for each attempt (contract, section 10).

An attempt resolves the host name once, checks every address, and connects to these very addresses, with the name for
TLS and `Host`. No proxy, no redirect, no cookie, and no connection of an earlier attempt, whose address was checked
then.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Self

import aiohttp
import structlog
from aiohttp.abc import AbstractResolver, ResolveResult
from django.conf import settings
from django.core.exceptions import ValidationError
from yarl import URL

from partners.webhooks import addresses
from partners.webhooks.aiohttp_internals import BoundedResponse
from partners.webhooks.attempt_headers import attempt_headers
from partners.webhooks.leases import Lease
from partners.webhooks.results import Outcome
from partners.webhooks.schedule import parse_retry_after

log = structlog.get_logger("partners.webhooks.sending")

USER_AGENT = "partner-service-webhooks/1"
# The time of an attempt, name look-up and response included.
TIMEOUT_SECONDS = 15.0
# How much of the response is read; none of it is kept.
MAX_RESPONSE_BYTES = 64 * 1024
_CHUNK_BYTES = 16 * 1024
_RETRY_AFTER_STATUSES = (429, 503)
# No compression: the limit is of what is read.
_SKIPPED_HEADERS = ("Accept-Encoding",)
# In this order, since most are kinds of later ones.
_ERRORS: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, "timeout"),
    (addresses.RefusedAddressError, "address"),
    (ValidationError, "address"),
    (aiohttp.ClientConnectorDNSError, "dns"),
    (aiohttp.ClientSSLError, "tls"),
    (ssl.SSLError, "tls"),
    (aiohttp.ServerDisconnectedError, "protocol"),
    (OSError, "connect"),
    (aiohttp.ClientError, "protocol"),
)


class Sender:
    """Makes attempts, any number at once, in one event loop; a context manager."""

    def __init__(self) -> None:
        connector = aiohttp.TCPConnector(
            resolver=_CheckingResolver(),
            use_dns_cache=False,
            force_close=True,
            limit=0,
            ssl=ssl.create_default_context(cafile=settings.WEBHOOK_CA_BUNDLE or None),
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            response_class=BoundedResponse,
            cookie_jar=aiohttp.DummyCookieJar(),
            # TIMEOUT_SECONDS limits an attempt as a whole.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            headers={"Content-Type": "application/json", "User-Agent": USER_AGENT},
            skip_auto_headers=_SKIPPED_HEADERS,
            auto_decompress=False,
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def attempt(self, lease: Lease, secrets: Sequence[str], seconds: float | None = None) -> Outcome:
        """Send a delivery once and log the result. It raises nothing but a cancellation.

        seconds: that it may take, TIMEOUT_SECONDS by default.
        """
        at, begun = datetime.now(UTC), time.perf_counter()
        result: dict[str, Any]
        try:
            if secrets:
                async with asyncio.timeout(TIMEOUT_SECONDS if seconds is None else seconds):
                    result = await self._post(lease, secrets, at)
            else:
                # None can be decrypted.
                result = {"error": "secret"}
        except Exception as error:  # noqa: BLE001 - one endpoint must not end the others' deliveries
            result = {"error": _code(error)}
        outcome = Outcome(at, round((time.perf_counter() - begun) * 1000), **result)
        log.info(
            "webhook attempt",
            webhook=str(lease.endpoint_id),
            event_id=str(lease.event_id),
            attempt=lease.attempt_count + 1,
            result=outcome.error or outcome.status,
            milliseconds=outcome.milliseconds,
        )
        return outcome

    async def _post(self, lease: Lease, secrets: Sequence[str], at: datetime) -> dict[str, Any]:
        target, body = addresses.parse(lease.url), lease.body
        headers = attempt_headers(event_id=lease.event_id, at=at, body=body, secrets=secrets)
        url = URL(target.url, encoded=True)
        async with self._session.post(url, data=body.encode(), headers=headers, allow_redirects=False) as response:
            await _read(response)
            after = response.headers.get("Retry-After", "") if response.status in _RETRY_AFTER_STATUSES else ""
            retry_after = parse_retry_after(after, now=datetime.now(UTC)) if after else None
            return {"status": response.status, "retry_after": retry_after}


class _CheckingResolver(AbstractResolver):
    """Gives the connector the checked addresses of a host, which it connects to without a second look-up."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,  # noqa: PLR2004
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in await addresses.resolve(host, port)
        ]

    async def close(self) -> None:
        """Do nothing: it has nothing open."""


async def _read(response: aiohttp.ClientResponse) -> None:
    """Read the response, up to MAX_RESPONSE_BYTES: a receiver's server may report a failure otherwise.

    One that breaks off has its status all the same.
    """
    left = MAX_RESPONSE_BYTES
    with suppress(aiohttp.ClientError):
        while left > 0 and (chunk := await response.content.read(min(left, _CHUNK_BYTES))):
            left -= len(chunk)


def _code(error: Exception) -> str:
    """Return the code of an error, as in `WebhookDelivery.attempts`."""
    for kind, code in _ERRORS:
        if isinstance(error, kind):
            return code
    log.error("webhook attempt failed unexpectedly", exc_info=error)
    return "internal"
