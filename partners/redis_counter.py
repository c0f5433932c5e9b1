"""Counts of the rate limit that all processes share, in Redis by the library `limits`: contract, section 5.

The limit protects against load, not against intruders: while Redis is unreachable or slow, requests pass uncounted.
"""

import time

import structlog
from limits.errors import StorageError
from limits.storage import RedisStorage

from core.circuit_breaker import CircuitBreaker
from core.formats import Rate

log = structlog.get_logger("partners.throttling")

REDIS_TIMEOUT_SECONDS = 0.25
# Usually Redis responds within a millisecond.
REDIS_SLOW_SECONDS = 0.05
# The circuit opens when slow responses exceed quick ones by this number.
REDIS_SLOW_RESPONSES = 5
# How long the circuit stays open, so that not every request waits for Redis.
REDIS_PAUSE_SECONDS = 2.0


class RedisCounter:
    """Counts over all processes. While Redis fails or is slow, the count is 0 in a window that begins now."""

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
        # Slow responses minus quick ones.
        self._slow = 0

    def hit(self, rate: Rate, partner_id: int) -> tuple[int, float]:
        """As Counter.hit (partners/api/throttling.py)."""
        now, begun = time.time(), time.monotonic()
        attempt = self._circuit.attempt()
        if attempt is not None:
            try:
                count, reset = self._hit(rate, partner_id)
            except StorageError:
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
