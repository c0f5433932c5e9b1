"""Rate limits: contract, section 5.

A window begins with the first request of a partner in it. Counts are kept in a dictionary of this process, or in Redis
if REDIS_URL is set (partners/redis_counter.py). Requests are counted after authentication, while no transaction is
open; so are refused ones of sandbox keys.
"""

import math
import threading
import time
from functools import lru_cache
from typing import Any, Protocol

from django.conf import settings
from rest_framework.throttling import BaseThrottle

from core.formats import Rate, parse_rate
from partners.api.request import PartnerRequest
from partners.authentication.signature_authentication import Caller


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


class Counter(Protocol):
    """Counts the requests of partners."""

    def hit(self, rate: Rate, partner_id: int) -> tuple[int, float]:
        """Count a request; return the count, and when the window ends in seconds since the epoch."""


class MemoryCounter:
    """Counts in fixed windows, in this process: one entry for each partner.

    The memory storage of `limits` starts a thread every 10 ms of traffic, which took 255 µs of the request that did so.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # The rate, the count and the end of the window, by partner: another rate begins another window.
        self._windows: dict[int, tuple[Rate, int, float]] = {}

    def hit(self, rate: Rate, partner_id: int) -> tuple[int, float]:
        """As Counter.hit."""
        now = time.time()
        with self._lock:
            last_rate, count, reset = self._windows.get(partner_id, (rate, 0, 0.0))
            if last_rate != rate or reset <= now:
                count, reset = 0, now + rate.seconds
            self._windows[partner_id] = rate, count + 1, reset
        return count + 1, reset


_counter_lock = threading.Lock()


@lru_cache(maxsize=1)
def _counter() -> Counter:
    # The lock keeps threads from seeing half-imported modules. Of simultaneous first requests each may have a counter
    # of its own, once.
    with _counter_lock:
        if not settings.REDIS_URL:
            return MemoryCounter()
        from partners.redis_counter import RedisCounter  # noqa: PLC0415 - slow to import

        return RedisCounter(settings.REDIS_URL)
