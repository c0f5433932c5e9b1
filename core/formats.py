"""The forms of times (RFC 3339; contract, sections 3 and 6), rate limits, whole numbers and UUIDs."""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple

_RATE = re.compile(r"([1-9]\d{0,8})/(second|minute|hour|day)", re.ASCII)
_WHOLE_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
# As RFC 9562 writes them.
UUID_PATTERN = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_UUID = re.compile(UUID_PATTERN)
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
# Hours are spelled out: newer Pythons read 24:00, which RFC 3339 does not have.
_RFC_3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt]((?:[01]\d|2[0-3]):\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_LEAP_SECOND = "60"


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
    """Parse decimal digits, without a sign. Raises ValueError."""
    if not _WHOLE_NUMBER.fullmatch(text) or not lowest <= int(text) <= highest:
        raise ValueError(f"must be a whole number from {lowest} to {highest}")
    return int(text)


def is_uuid(text: str) -> bool:
    """Whether a text has this form; Python's UUID() takes others too."""
    return _UUID.fullmatch(text) is not None


def format_timestamp(value: datetime) -> str:
    """An aware date-time in UTC with `Z` and six fraction digits (contract, section 6)."""
    # strftime does not pad years before 1000.
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_timestamp(text: str) -> datetime:
    """Parse an RFC 3339 date-time; digits beyond microseconds are cut off. Raises ValueError.

    A leap second, which ends a month of UTC, counts as the second after it (RFC 3339, section 5.7).
    """
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError("not an RFC 3339 date-time")
    date, time, second, fraction, sign_, hours, minutes = match.groups()
    leap = timedelta(seconds=second == _LEAP_SECOND)
    moment = datetime.fromisoformat(f"{date}T{time}:{'59' if leap else second}.{(fraction or '')[:6]:0<6}+00:00")
    if sign_ is None and not leap:
        return moment
    offset = timedelta()
    if sign_ is not None:
        if int(hours) > 23 or int(minutes) > 59:  # noqa: PLR2004 - RFC 3339, time-numoffset
            raise ValueError("not an RFC 3339 offset")
        offset = timedelta(hours=int(hours), minutes=int(minutes)) * (1 if sign_ == "+" else -1)
    try:
        instant = moment.replace(tzinfo=timezone(offset)).astimezone(UTC) + leap
    except OverflowError:
        raise ValueError("not an instant of the years 1 to 9999") from None
    if leap and (instant.day, instant.hour, instant.minute) != (1, 0, 0):
        raise ValueError("not an instant at which a leap second is added")
    return instant
