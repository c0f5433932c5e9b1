"""Counts of the rate limit that all processes share, in Redis by the library `limits`: contract, section 5.

The limit protects against load, not against intruders: while Redis does not answer in time, requests pass uncounted.
"""

import time

import structlog
from limits.errors import StorageError
from limits.storage import RedisStorage

from core.circuit_breaker import CircuitBreaker
from core.formats import Rate

log = structlog.get_logger("partners.throttling")

# Usually Redis responds within a millisecond.
REDIS_TIMEOUT_SECONDS = 0.1
# How long the circuit stays open, so that not every request waits for Redis.
REDIS_PAUSE_SECONDS = 2.0


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
        """As Counter.hit (partners/api/throttling.py)."""
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
