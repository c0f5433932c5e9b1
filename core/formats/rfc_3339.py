"""Date-times of RFC 3339: contract, sections 3 and 6."""

import re
from datetime import UTC, datetime, timedelta, timezone

# Hours are spelled out: newer Pythons read 24:00, which RFC 3339 does not have.
_RFC_3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt]((?:[01]\d|2[0-3]):\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_LEAP_SECOND = "60"


def format_timestamp(value: datetime) -> str:
    """An aware date-time in UTC with `Z` and six fraction digits (contract, section 6)."""
    # strftime does not pad years before 1000.
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_timestamp(text: str) -> datetime:
    """Parse an RFC 3339 date-time; digits beyond microseconds are cut off.

    A leap second, which ends a month of UTC, counts as the second after it (RFC 3339, section 5.7).
    Raises ValueError, also for other forms of ISO 8601.
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
