"""Rate limits: contract, section 5.

A window begins with the first request of a partner in it. Counts are kept in a dictionary of this process, or in Redis
by the library `limits` if REDIS_URL is set. Requests are counted after authentication, while no transaction is open; so
are refused ones of sandbox keys. The limit protects against load, not against intruders: while Redis does not answer in
time, requests pass uncounted.
"""

import math
import threading
import time
from functools import lru_cache
from typing import Any

import structlog
from django.conf import settings
from limits.errors import StorageError
from limits.storage import RedisStorage
from rest_framework.throttling import BaseThrottle

from core.circuit_breaker import CircuitBreaker
from core.formats import Rate, parse_rate
from partners.api.request import PartnerRequest
from partners.authentication.signature_authentication import Caller

log = structlog.get_logger("partners.throttling")

# Usually Redis responds within a millisecond.
REDIS_TIMEOUT_SECONDS = 0.1
# How long the circuit stays open, so that not every request waits for Redis.
REDIS_PAUSE_SECONDS = 2.0


class PartnerRateThrottle(BaseThrottle):
    """Counts requests per partner, over all its keys."""

    _seconds: int

    def allow_request(self, request: PartnerRequest, view: Any) -> bool:  # type: ignore[override]
        """Count the request, and set the RateLimit headers (draft-ietf-httpapi-ratelimit-headers-10)."""
        rate, count, reset = count_request(request.user)
        # Redis rounds, and clocks differ: a window is never longer than its length.
        self._seconds = min(max(1, math.ceil(reset - time.time())), rate.seconds)
        view.headers["RateLimit-Policy"] = f'"default";q={rate.amount};w={rate.seconds}'
        view.headers["RateLimit"] = f'"default";r={max(0, rate.amount - count)};t={self._seconds}'
        return count <= rate.amount

    def wait(self) -> int:
        """Whole seconds until the window ends, at least 1."""
        return self._seconds


def count_request(caller: Caller) -> tuple[Rate, int, float]:
    """Count a request of the caller's partner; its rate, the count, and when the window ends."""
    rate = parse_rate(caller.rate_limit or settings.PARTNER_RATE_LIMIT)
    return rate, *_counter().hit(rate, caller.partner_id)


class MemoryCounter:
    """Counts in fixed windows, in this process. That of `limits` starts a thread every 10 ms, for 255 µs each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # The rate, the count and the end of the window, by partner: another rate begins another window.
        self._windows: dict[int, tuple[Rate, int, float]] = {}

    def hit(self, rate: Rate, partner_id: int) -> tuple[int, float]:
        """Count a request; return the count, and when the window ends in seconds since the epoch."""
        now = time.time()
        with self._lock:
            last_rate, count, reset = self._windows.get(partner_id, (rate, 0, 0.0))
            if last_rate != rate or reset <= now:
                count, reset = 0, now + rate.seconds
            self._windows[partner_id] = rate, count + 1, reset
        return count + 1, reset


class RedisCounter:
    """Counts over all processes. While Redis fails, the count is 0 in a window that begins now."""

    def __init__(self, url: str) -> None:
        self._storage = RedisStorage(
            url,
            key_prefix="psi",
            wrap_exceptions=True,
            socket_timeout=REDIS_TIMEOUT_SECONDS,
            socket_connect_timeout=REDIS_TIMEOUT_SECONDS,
        )
        # Last known count and end of the window, by key.
        self._windows: dict[str, tuple[int, float]] = {}
        self._circuit = CircuitBreaker(pause_seconds=REDIS_PAUSE_SECONDS, probe_seconds=REDIS_PAUSE_SECONDS)

    def hit(self, rate: Rate, partner_id: int) -> tuple[int, float]:
        """As MemoryCounter.hit."""
        now = time.time()
        attempt = self._circuit.attempt()
        if attempt is not None:
            try:
                count, reset = self._hit(rate, partner_id)
            except StorageError:
                self._circuit.failed(attempt)
                log.exception("Redis failed; requests pass uncounted", seconds=REDIS_PAUSE_SECONDS)
            else:
                self._circuit.succeeded()
                # Redis rounds to seconds.
                return count, max(reset + 0.5, now)
        return 0, now + rate.seconds

    def _hit(self, rate: Rate, partner_id: int) -> tuple[int, float]:
        key = f"{partner_id}/{rate.amount}/{rate.seconds}"
        count = self._storage.incr(key, rate.seconds)
        last_count, reset = self._windows.get(key, (0, 0.0))
        # The end of a window does not change, so it is read once, when a lower count shows that a window is new: of
        # `limits`' own `hit` and `get_window_stats`, three round trips of 40 µs to a Redis nearby, one remains.
        if count <= last_count or reset <= time.time():
            reset = self._storage.get_expiry(key)
        self._windows[key] = count, reset
        return count, reset


@lru_cache(maxsize=1)
def _counter() -> MemoryCounter | RedisCounter:
    return RedisCounter(settings.REDIS_URL) if settings.REDIS_URL else MemoryCounter()
