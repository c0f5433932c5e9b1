"""The forms of rate limits, of whole numbers in settings, commands and the admin, and of UUIDs in requests."""

import re
from functools import lru_cache
from typing import NamedTuple

_RATE = re.compile(r"([1-9]\d{0,8})/(second|minute|hour|day)", re.ASCII)
_WHOLE_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
# As RFC 9562 writes them.
UUID_PATTERN = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_UUID = re.compile(UUID_PATTERN)
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}


class Rate(NamedTuple):
    """A number of requests in a window of some seconds."""

    amount: int
    seconds: int


@lru_cache(maxsize=1024)
def parse_rate(text: str) -> Rate:
    """Parse a whole number, a slash, and second, minute, hour or day (contract, section 5). Raises ValueError."""
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError("a rate limit has the form 600/minute (or second, hour, day).")
    return Rate(int(match[1]), _SECONDS[match[2]])


def parse_whole_number(text: str, lowest: int, highest: int) -> int:
    """Parse decimal digits, without a sign. Raises ValueError, whose text continues "must be"."""
    if not _WHOLE_NUMBER.fullmatch(text) or not lowest <= int(text) <= highest:
        raise ValueError(f"a whole number from {lowest} to {highest}")
    return int(text)


def is_uuid(text: str) -> bool:
    """Whether a text has this form; Python's UUID() takes others too."""
    return _UUID.fullmatch(text) is not None
