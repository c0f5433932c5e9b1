"""When a delivery is attempted again (contract, section 10)."""

import random
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# They follow the end of the first attempt, of the second, and so on.
DELAYS = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=10),
)
MAX_ATTEMPTS = len(DELAYS) + 1
# The part of a delay that is random: deliveries that failed together are not repeated together.
JITTER = 0.1
MAX_RETRY_AFTER = timedelta(hours=1)


def delay_after(*, attempt: int, retry_after: timedelta | None = None) -> timedelta | None:
    """Return how long to wait after an attempt, counted from 1; None after the last. retry_after: the receiver's."""
    if attempt >= MAX_ATTEMPTS:
        return None
    delay = DELAYS[attempt - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - nothing secret
    return max(delay, min(retry_after or timedelta(), MAX_RETRY_AFTER))


def parse_retry_after(value: str, *, now: datetime) -> timedelta | None:
    """Return the wait that `Retry-After` asks for (RFC 9110, section 10.2.3), at most an hour; None if unreadable."""
    value = value.strip()
    if re.fullmatch(r"[0-9]{1,4000}", value):
        return timedelta(seconds=min(int(value), int(MAX_RETRY_AFTER.total_seconds())))
    try:
        until = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return min(max(until - now, timedelta()), MAX_RETRY_AFTER)
