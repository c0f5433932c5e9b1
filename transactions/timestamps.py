"""The rule of `createdAt` for conversions and documents: contract, section 6."""

import re
from datetime import UTC, datetime

from partners.rfc_3339 import parse_timestamp

# The range of RFC 3339, but for the last day, which is in the year 10000 in other time zones.
EARLIEST, LATEST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)

# The usual form, which the standard library parses in a quarter of the time.
_USUAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(?:\.\d{6})?Z", re.ASCII)
_FINER_THAN_MICROSECONDS = re.compile(r"\.\d{6}\d*[1-9]", re.ASCII)


class TooLateError(ValueError):
    """A time after those that are accepted."""


def parse_created_at(text: str) -> datetime:
    """The time of an RFC 3339 date-time. Raises ValueError with a text that continues the field's name."""
    try:
        created_at = datetime.fromisoformat(text) if _USUAL.fullmatch(text) else parse_timestamp(text)
    except ValueError:
        raise ValueError("must be an RFC 3339 date-time, such as 2026-01-31T12:00:00Z") from None
    if _FINER_THAN_MICROSECONDS.search(text):
        raise ValueError("is finer than microseconds")
    if created_at >= LATEST:
        raise TooLateError(f"must be before {LATEST:%Y-%m-%d}")
    return created_at
