"""The form of a rate limit, `600/minute`, wherever one is written: setting, command, admin."""

import re
from functools import lru_cache
from typing import NamedTuple

_RATE = re.compile(r"([1-9]\d{0,8})/(second|minute|hour|day)", re.ASCII)
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}


class Rate(NamedTuple):
    """So many requests in a window of so many seconds."""

    amount: int
    seconds: int


@lru_cache(maxsize=1024)
def parse_rate(text: str) -> Rate:
    """The rate limit that `text` names.

    text: a whole number of requests, a slash, and second, minute, hour or day (contract, section 5).
    Raises ValueError where it has another form.
    """
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError("a rate limit is written like 600/minute (second, minute, hour or day).")
    return Rate(int(match[1]), _SECONDS[match[2]])
