"""Rate limits: contract, section 5.

A window begins with the first request of a partner in it. Counts are kept in a dictionary of this process, or in Redis
by the `limits` library if REDIS_URL is set. The limit protects against load, not against intruders: while Redis is
unreachable or slow, requests pass uncounted. Requests are counted after authentication, while no transaction is open;
so are refused ones of sandbox keys (partners/api/sandbox/hooks.py).
"""

import math
import threading
import time
from functools import lru_cache
from typing import Any

import structlog
from django.conf import settings
from rest_framework.throttling import BaseThrottle

from core.circuit_breaker import CircuitBreaker
from core.formats.rates import Rate, parse_rate
from partners.api.request import PartnerRequest
from partners.authentication.keys import Caller

log = structlog.get_logger("partners.throttling")

REDIS_TIMEOUT_SECONDS = 0.25
# Usually Redis responds within a millisecond.
REDIS_SLOW_SECONDS = 0.05
# The circuit opens when slow responses exceed quick ones by this number.
REDIS_SLOW_RESPONSES = 5
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
    """Counts in fixed windows, in this process: one entry for each partner.

    The memory storage of `limits` starts a thread every 10 ms of traffic, which took 255 µs of the request that did so.
    """

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
    """Counts over all processes. While Redis fails or is slow, the count is 0 in a window that begins now."""

    def __init__(self, url: str) -> None:
        from limits.errors import StorageError  # noqa: PLC0415 - slow to import
        from limits.storage import RedisStorage  # noqa: PLC0415

        self._storage = RedisStorage(
            url,
            key_prefix="psi",
            wrap_exceptions=True,
            socket_timeout=REDIS_TIMEOUT_SECONDS,
            socket_connect_timeout=REDIS_TIMEOUT_SECONDS,
        )
        self._storage_error = StorageError
        # Last known count and end of the window, by key.
        self._windows: dict[str, tuple[int, float]] = {}
        self._circuit = CircuitBreaker(pause_seconds=REDIS_PAUSE_SECONDS, probe_seconds=REDIS_PAUSE_SECONDS)
        # Slow responses minus quick ones.
        self._slow = 0

    def hit(self, rate: Rate, partner_id: int) -> tuple[int, float]:
        """As MemoryCounter.hit."""
        now, begun = time.time(), time.monotonic()
        attempt = self._circuit.attempt()
        if attempt is not None:
            try:
                count, reset = self._hit(rate, partner_id)
            except self._storage_error:
                self._circuit.failed(attempt)
                log.exception("Redis failed; requests pass uncounted", seconds=REDIS_PAUSE_SECONDS)
            else:
                self._record_duration(attempt, time.monotonic() - begun)
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

    def _record_duration(self, attempt: int, seconds: float) -> None:
        if seconds <= REDIS_SLOW_SECONDS:
            self._slow = max(0, self._slow - 1)
            self._circuit.succeeded()
            return
        self._slow = min(self._slow + 1, REDIS_SLOW_RESPONSES)
        if self._slow == REDIS_SLOW_RESPONSES and self._circuit.failed(attempt):
            log.error("Redis is slow; requests pass uncounted", response_seconds=seconds, seconds=REDIS_PAUSE_SECONDS)


_counter_lock = threading.Lock()


@lru_cache(maxsize=1)
def _counter() -> MemoryCounter | RedisCounter:
    # The lock keeps threads from seeing half-imported modules. Of simultaneous first requests each may have a counter
    # of its own, once.
    with _counter_lock:
        return RedisCounter(settings.REDIS_URL) if settings.REDIS_URL else MemoryCounter()
