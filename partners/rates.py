"""The form of a rate limit, `600/minute`, wherever one is written: setting, command, admin."""

import re
from functools import lru_cache

from limits import RateLimitItem, parse

_RATE = re.compile(r"[1-9]\d{0,8}/(second|minute|hour|day)", re.ASCII)


@lru_cache(maxsize=1024)
def parse_rate(text: str) -> RateLimitItem:
    """The rate limit that `text` names, as the `limits` library has it.

    text: a whole number of requests, a slash, and second, minute, hour or day (contract, section 5).
    Raises ValueError where it has another form.
    """
    if not _RATE.fullmatch(text):
        raise ValueError("a rate limit is written like 600/minute (second, minute, hour or day).")
    return parse(text)
