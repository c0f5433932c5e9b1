"""Rate limits: contract, section 5.

A window begins with a partner's first request in it. Counts are kept by the `limits` library in Redis if REDIS_URL is
set, otherwise in this process. The limit protects against load, not against intruders: while Redis is unreachable or
slow, requests pass uncounted. Requests are counted after authentication, while no transaction is open.
"""

import math
import threading
import time
from functools import lru_cache
from typing import Any

import structlog
from django.conf import settings
from rest_framework.throttling import BaseThrottle

from partners.api.rates import Rate, parse_rate
from partners.api.request import PartnerRequest

log = structlog.get_logger("partners.throttling")

REDIS_TIMEOUT_SECONDS = 0.25
# Usually Redis answers within a millisecond.
REDIS_SLOW_SECONDS = 0.05
# The circuit opens when slow answers exceed quick ones by this number.
REDIS_SLOW_ANSWERS = 5
# How long the circuit stays open, so that not every request waits for Redis.
REDIS_PAUSE_SECONDS = 2.0


class PartnerRateThrottle(BaseThrottle):
    """Counts requests per partner, over all its keys."""

    _seconds: int

    def allow_request(self, request: PartnerRequest, view: Any) -> bool:  # type: ignore[override]
        """Count the request, and set the RateLimit headers (draft-ietf-httpapi-ratelimit-headers-10)."""
        rate = parse_rate(request.user.rate_limit or settings.PARTNER_RATE_LIMIT)
        count, reset = _counter().hit(rate, request.user.partner_id)
        # Redis rounds, and clocks differ: a window is never longer than its length.
        self._seconds = min(max(1, math.ceil(reset - time.time())), rate.seconds)
        view.headers["RateLimit-Policy"] = f'"default";q={rate.amount};w={rate.seconds}'
        view.headers["RateLimit"] = f'"default";r={max(0, rate.amount - count)};t={self._seconds}'
        return count <= rate.amount

    def wait(self) -> int:
        """Whole seconds until the window ends, at least 1."""
        return self._seconds


class LocalCounter:
    """Counts within this process, in a window for each partner and rate."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Count and end of the window, by partner and rate.
        self._windows: dict[tuple[int, Rate], tuple[int, float]] = {}

    def hit(self, rate: Rate, partner_id: int) -> tuple[int, float]:
        """Count a request; return the count, and when the window ends in seconds since the epoch."""
        with self._lock:
            now = time.time()
            count, reset = self._windows.get((partner_id, rate), (0, 0.0))
            # The second: the clock was set back.
            if reset <= now or reset > now + rate.seconds:
                count, reset = 0, now + rate.seconds
            window = self._windows[partner_id, rate] = (count + 1, reset)
        return window


class RedisCircuit:
    """A circuit breaker: opens when Redis fails, or is slow several times; after the pause one request tries again.

    Threads share it without a lock: a lost update costs one more slow answer.
    """

    def __init__(self) -> None:
        self._open_until = 0.0
        # Slow answers minus quick ones.
        self._slow = 0

    def allows(self, now: float) -> bool:
        """Whether to use Redis now."""
        if now < self._open_until:
            return False
        if self._open_until:
            # Only this request tries; the others do not wait for it.
            self._open_until = now + REDIS_PAUSE_SECONDS
        return True

    def answered(self, seconds: float) -> None:
        """Record an answer and its duration."""
        if seconds <= REDIS_SLOW_SECONDS:
            self._slow = max(0, self._slow - 1)
            self._open_until = 0.0
            return
        self._slow = min(self._slow + 1, REDIS_SLOW_ANSWERS)
        if self._slow == REDIS_SLOW_ANSWERS:
            self.open()
            log.error("Redis is slow; requests pass uncounted", answer_seconds=seconds, seconds=REDIS_PAUSE_SECONDS)

    def open(self) -> None:
        """Do not use Redis for REDIS_PAUSE_SECONDS."""
        self._open_until = time.monotonic() + REDIS_PAUSE_SECONDS


class RedisCounter:
    """Counts over all processes. While the circuit is open, the count is 0 in a window that begins now."""

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
        # Last known count and end of the window, by partner and rate.
        self._windows: dict[tuple[int, Rate], tuple[int, float]] = {}
        self._circuit = RedisCircuit()

    def hit(self, rate: Rate, partner_id: int) -> tuple[int, float]:
        """As LocalCounter.hit."""
        now, begun = time.time(), time.monotonic()
        if self._circuit.allows(begun):
            try:
                window = self._count(rate, partner_id, now)
            except self._storage_error:
                self._circuit.open()
                log.exception("Redis failed; requests pass uncounted", seconds=REDIS_PAUSE_SECONDS)
            else:
                self._circuit.answered(time.monotonic() - begun)
                return window
        return 0, now + rate.seconds

    def _count(self, rate: Rate, partner_id: int, now: float) -> tuple[int, float]:
        key = f"{partner_id}/{rate.amount}/{rate.seconds}"
        count = self._storage.incr(key, rate.seconds)
        last_count, reset = self._windows.get((partner_id, rate), (0, 0.0))
        # The end of a window does not change: it is read once, when a lower count shows that a window is new.
        if count <= last_count or reset <= now:
            # Redis rounds to seconds.
            reset = max(self._storage.get_expiry(key) + 0.5, now)
        window = self._windows[partner_id, rate] = (count, reset)
        return window


_counter_lock = threading.Lock()


@lru_cache(maxsize=1)
def _counter() -> LocalCounter | RedisCounter:
    # The lock keeps threads from seeing half-imported modules.
    with _counter_lock:
        return RedisCounter(settings.REDIS_URL) if settings.REDIS_URL else LocalCounter()
