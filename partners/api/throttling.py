"""How often a partner may ask: contract, section 5.

A window begins with a partner's first request in it. Counts are kept by the `limits` library, in
Redis where REDIS_URL is set, else per process. The limit protects the service and does not guard
the door: where Redis does not answer, requests pass.
"""

import math
import threading
import time
from functools import lru_cache
from typing import TYPE_CHECKING

import structlog
from django.conf import settings
from limits import RateLimitItem
from limits.errors import StorageError
from limits.storage import MemoryStorage, RedisStorage
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from partners.api.errors import TooManyRequestsError
from partners.keys import Caller
from partners.rates import parse_rate

if TYPE_CHECKING:
    from partners.api.views import PartnerAPIView

log = structlog.get_logger("partners.throttling")

REDIS_TIMEOUT_SECONDS = 0.25
# How long to do without a Redis that did not answer, so that each request does not wait for it.
REDIS_PAUSE_SECONDS = 2.0


class PartnerRateThrottle(BaseThrottle):
    """Counts an authenticated request and sets the RateLimit fields of its answer."""

    def allow_request(self, request: Request, view: "PartnerAPIView") -> bool:  # type: ignore[override]
        """True, or raises TooManyRequestsError."""
        caller: Caller = request.user  # type: ignore[assignment]
        rate = parse_rate(caller.rate_limit or settings.PARTNER_RATE_LIMIT)
        count, reset = _counter().hit(rate, caller.partner_id)
        seconds = max(1, math.ceil(reset - time.time()))
        # draft-ietf-httpapi-ratelimit-headers-10
        view.answer_headers["RateLimit-Policy"] = f'"default";q={rate.amount};w={rate.get_expiry()}'
        view.answer_headers["RateLimit"] = f'"default";r={max(0, rate.amount - count)};t={seconds}'
        if count > rate.amount:
            raise TooManyRequestsError(seconds)
        return True


class Counter:
    """Requests in the present window of each partner."""

    def __init__(self, redis_url: str) -> None:
        self._storage = (
            RedisStorage(
                redis_url,
                key_prefix="psi",
                wrap_exceptions=True,
                socket_timeout=REDIS_TIMEOUT_SECONDS,
                socket_connect_timeout=REDIS_TIMEOUT_SECONDS,
            )
            if redis_url
            else MemoryStorage(wrap_exceptions=True)
        )
        # Redis tells the rest of a window in seconds, rounded.
        self._rounding = 0.5 if redis_url else 0.0
        # By key: when its window ends, and the count last seen in it.
        self._windows: dict[str, tuple[float, int]] = {}
        self._paused_until = 0.0

    def hit(self, rate: RateLimitItem, partner_id: int) -> tuple[int, float]:
        """Counts one request: how many there are now, and when the window ends (seconds since the epoch).

        Where the counts cannot be reached, 0 and the end of a window that would begin now.
        """
        now = time.time()
        if now >= self._paused_until:
            try:
                return self._count(rate, rate.key_for(str(partner_id)), now)
            except StorageError:
                self._paused_until = now + REDIS_PAUSE_SECONDS
                log.exception("rate limits cannot be counted; requests pass", seconds=REDIS_PAUSE_SECONDS)
        return 0, now + rate.get_expiry()

    def _count(self, rate: RateLimitItem, key: str, now: float) -> tuple[int, float]:
        count = self._storage.incr(key, rate.get_expiry())
        reset, seen = self._windows.get(key, (0.0, 0))
        # A window's end is asked for once: it does not move while the window lasts. A count that fell
        # is of a new window.
        if count <= seen or reset <= now:
            reset = max(self._storage.get_expiry(key) + self._rounding, now)
        self._windows[key] = (reset, count)
        return count, reset


_making = threading.Lock()


@lru_cache(maxsize=1)
def _counter() -> Counter:
    # limits imports redis when it is first wanted, and takes what another thread has half imported for none at all.
    with _making:
        return Counter(settings.REDIS_URL)
