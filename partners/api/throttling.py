"""How often a partner may ask: contract, section 5.

A window begins with a partner's first request in it. Counts are kept in Redis, by the `limits` library, where
REDIS_URL is set, else in this process. The limit protects the service against load, not against strangers: while
Redis does not answer, or answers slowly, requests pass uncounted. Requests are counted once they are authenticated,
while no transaction is open.
"""

import math
import threading
import time
from functools import lru_cache
from typing import Any, Protocol

import structlog
from django.conf import settings
from rest_framework.throttling import BaseThrottle

from partners.api.rates import Rate, parse_rate
from partners.api.request import PartnerRequest
from partners.authentication.keys import Caller

log = structlog.get_logger("partners.throttling")

REDIS_TIMEOUT_SECONDS = 0.25
# An answer that takes longer is slow. Redis mostly needs less than a millisecond.
REDIS_SLOW_SECONDS = 0.05
# So many more slow answers than quick ones, and Redis is not asked for a while.
REDIS_SLOW_ANSWERS = 5
# How long Redis is not asked after a failure or slow answers, so that each request does not wait for it.
REDIS_PAUSE_SECONDS = 2.0


class PartnerRateThrottle(BaseThrottle):
    """Counts requests by partner, whichever of its keys signed."""

    _seconds: int

    def allow_request(self, request: PartnerRequest, view: Any) -> bool:  # type: ignore[override]
        """Counts the request, and sets the RateLimit fields of its answer (draft-ietf-httpapi-ratelimit-headers-10)."""
        rate = _rate(request.user)
        counted, reset = _counter().hit(rate, request.user.partner_id)
        # Redis rounds, and clocks differ: a window never lasts longer than its length.
        self._seconds = min(max(1, math.ceil(reset - time.time())), rate.seconds)
        view.headers["RateLimit-Policy"] = f'"default";q={rate.amount};w={rate.seconds}'
        view.headers["RateLimit"] = f'"default";r={max(0, rate.amount - counted)};t={self._seconds}'
        return counted <= rate.amount

    def wait(self) -> int:
        """Whole seconds until the window ends, at least 1."""
        return self._seconds


def _rate(caller: Caller) -> Rate:
    return parse_rate(caller.rate_limit or settings.PARTNER_RATE_LIMIT)


class Counter(Protocol):
    """Requests in the present window of each partner. Another rate of a partner has a window of its own."""

    def hit(self, rate: Rate, partner_id: int) -> tuple[int, float]:
        """Counts one request: how many there are now, and when the window ends (seconds since the epoch)."""


class OwnCounter:
    """Counts in this process alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By partner and rate: the count so far, and when the window ends.
        self._windows: dict[tuple[int, Rate], tuple[int, float]] = {}

    def hit(self, rate: Rate, partner_id: int) -> tuple[int, float]:
        """See Counter."""
        now = time.time()
        with self._lock:
            count, reset = self._windows.get((partner_id, rate), (0, 0.0))
            if reset <= now:
                count, reset = 0, now + rate.seconds
            window = self._windows[partner_id, rate] = (count + 1, reset)
        return window


class RedisCircuit:
    """A circuit breaker: for how long Redis is not asked after it failed, or was slow several times.

    After the pause one request asks again; one slow answer then opens the circuit again. The threads of a process
    share it without a lock: a lost update costs one slow answer more.
    """

    def __init__(self) -> None:
        self._open_until = 0.0
        # Slow answers less quick ones.
        self._slow = 0

    def lets_pass(self, now: float) -> bool:
        """Whether Redis is to be asked now."""
        if now < self._open_until:
            return False
        if self._open_until:
            # The other requests do not wait for the answer that this one gets.
            self._open_until = now + REDIS_PAUSE_SECONDS
        return True

    def answered(self, seconds: float) -> None:
        """Redis has answered, after so many seconds."""
        if seconds <= REDIS_SLOW_SECONDS:
            self._slow = max(0, self._slow - 1)
            self._open_until = 0.0
            return
        self._slow = min(self._slow + 1, REDIS_SLOW_ANSWERS)
        if self._slow == REDIS_SLOW_ANSWERS:
            self.open()
            log.error("redis is slow; requests pass uncounted", answer_seconds=seconds, seconds=REDIS_PAUSE_SECONDS)

    def open(self) -> None:
        """Redis is not asked for REDIS_PAUSE_SECONDS."""
        self._open_until = time.monotonic() + REDIS_PAUSE_SECONDS


class RedisCounter:
    """Counts of all processes together. While Redis is not asked: 0, and a window that would begin now."""

    def __init__(self, url: str) -> None:
        # Where there is no Redis, nobody waits for these to be imported.
        from limits.errors import StorageError  # noqa: PLC0415
        from limits.storage import RedisStorage  # noqa: PLC0415

        self._storage = RedisStorage(
            url,
            key_prefix="psi",
            wrap_exceptions=True,
            socket_timeout=REDIS_TIMEOUT_SECONDS,
            socket_connect_timeout=REDIS_TIMEOUT_SECONDS,
        )
        self._failure = StorageError
        # By partner and rate: the count last seen, and when its window ends.
        self._windows: dict[tuple[int, Rate], tuple[int, float]] = {}
        self._circuit = RedisCircuit()

    def hit(self, rate: Rate, partner_id: int) -> tuple[int, float]:
        """See Counter."""
        now, begun = time.time(), time.monotonic()
        if self._circuit.lets_pass(begun):
            try:
                window = self._count(rate, partner_id, now)
            except self._failure:
                self._circuit.open()
                log.exception("rate limits cannot be counted; requests pass", seconds=REDIS_PAUSE_SECONDS)
            else:
                self._circuit.answered(time.monotonic() - begun)
                return window
        return 0, now + rate.seconds

    def _count(self, rate: Rate, partner_id: int, now: float) -> tuple[int, float]:
        key = f"{partner_id}/{rate.amount}/{rate.seconds}"
        count = self._storage.incr(key, rate.seconds)
        seen, reset = self._windows.get((partner_id, rate), (0, 0.0))
        # A window's end is asked for once: it does not move while the window lasts. A count that fell
        # is of a new window.
        if count <= seen or reset <= now:
            # Redis tells the rest of a window in seconds, rounded.
            reset = max(self._storage.get_expiry(key) + 0.5, now)
        window = self._windows[partner_id, rate] = (count, reset)
        return window


_making = threading.Lock()


@lru_cache(maxsize=1)
def _counter() -> Counter:
    # What is half imported by another thread must not be taken for whole.
    with _making:
        return RedisCounter(settings.REDIS_URL) if settings.REDIS_URL else OwnCounter()
