"""What X-Request-Timestamp shows by itself: its form, and how far it is off the service's clock."""

import re
from datetime import timedelta
from email.utils import parsedate_to_datetime

from partners.doctor.checks import Check, Clock, Groups, is_quoted
from partners.doctor.findings import ERROR, TIMESTAMP, WARNING, Cause, Level, counted
from partners.doctor.mistakes import Verdict
from partners.doctor.mistakes_stamp import instant
from partners.doctor.sent import Sent

_NUMBER = re.compile(r"[0-9]{9,19}(?:\.[0-9]+)?")
_WITHOUT_ZONE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?")
_WITH_SPACE = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d.*)")

# Zones differ by quarters of an hour, the farthest by 14 hours.
_QUARTER_SECONDS = 15 * 60
_FARTHEST_SECONDS = 14 * 3600
_NEAR_SECONDS = 90


def _no_timestamp(sent: Sent, _: Clock) -> Verdict:
    return not sent.timestamp


def _timestamp_quoted(sent: Sent, _: Clock) -> Verdict:
    return is_quoted(sent.timestamp)


def _timestamp_is_number(sent: Sent, _: Clock) -> Verdict:
    return bool(_NUMBER.fullmatch(sent.timestamp))


def _timestamp_without_zone(sent: Sent, _: Clock) -> Verdict:
    return bool(_WITHOUT_ZONE.fullmatch(sent.timestamp))


def _timestamp_with_space(sent: Sent, _: Clock) -> Verdict:
    match = _WITH_SPACE.fullmatch(sent.timestamp)
    return match is not None and instant("T".join(match.groups())) is not None


def _timestamp_of_http(sent: Sent, _: Clock) -> Verdict:
    if not sent.timestamp[:1].isalpha():
        return False
    try:
        parsedate_to_datetime(sent.timestamp)
    except (ValueError, OverflowError):
        return False
    return True


def _timestamp_malformed(sent: Sent, _: Clock) -> Verdict:
    return instant(sent.timestamp) is None


def _seconds_ahead(sent: Sent, clock: Clock) -> int:
    """How far the timestamp is ahead of the service's time; 0 where it is within what is allowed."""
    signed_at = instant(sent.timestamp)
    ahead = timedelta() if signed_at is None else signed_at - clock.now
    return round(ahead.total_seconds()) if abs(ahead.total_seconds()) > clock.skew_seconds else 0


def _local_time(sent: Sent, clock: Clock) -> Verdict:
    seconds = abs(_seconds_ahead(sent, clock))
    off = (seconds + _NEAR_SECONDS) % _QUARTER_SECONDS
    if not _QUARTER_SECONDS <= seconds + _NEAR_SECONDS <= _FARTHEST_SECONDS + _NEAR_SECONDS or off > 2 * _NEAR_SECONDS:
        return False
    return {"zones": _in_hours(round(seconds / _QUARTER_SECONDS)), **_how_far(sent, clock)}


def _in_hours(quarters: int) -> str:
    """So many quarters of an hour, in minutes below an hour."""
    if quarters < 4:  # noqa: PLR2004 - an hour
        return counted(quarters * 15, "minute")
    return counted(quarters // 4 if quarters % 4 == 0 else quarters / 4, "hour")


def _clock_ahead(sent: Sent, clock: Clock) -> Verdict:
    return _seconds_ahead(sent, clock) > 0 and _how_far(sent, clock)


def _clock_behind(sent: Sent, clock: Clock) -> Verdict:
    return _seconds_ahead(sent, clock) < 0 and _how_far(sent, clock)


def _how_far(sent: Sent, clock: Clock) -> dict[str, object]:
    seconds = _seconds_ahead(sent, clock)
    return {
        "off": counted(abs(seconds), "second"),
        "way": "ahead of" if seconds > 0 else "behind",
        "allowed": counted(clock.skew_seconds, "second"),
    }


def _time(code: str, title: str, explanation: str, remedy: str, *, level: Level = ERROR) -> Cause:
    return Cause(code, level, title, explanation, remedy, TIMESTAMP)


GROUPS: Groups = (
    (
        Check(
            _time(
                "timestamp-missing",
                "X-Request-Timestamp is missing",
                "The service does not know when the request was signed, and line 4 is empty.",
                "Send the time of signing, such as 2026-01-15T10:30:00Z.",
            ),
            _no_timestamp,
        ),
        Check(
            _time(
                "timestamp-quoted",
                "X-Request-Timestamp is in quotation marks",
                "They arrive as part of the header, which is then no date-time.",
                "Send the time without them.",
            ),
            _timestamp_quoted,
        ),
        Check(
            _time(
                "timestamp-is-number",
                "X-Request-Timestamp is a number",
                "It counts seconds or milliseconds; the service takes a date-time of RFC 3339.",
                "Write the time like 2026-01-15T10:30:00Z.",
            ),
            _timestamp_is_number,
        ),
        Check(
            _time(
                "timestamp-without-zone",
                "X-Request-Timestamp has no time zone",
                "Without Z or an offset nobody knows which instant is meant.",
                "Take the time in UTC and end it with Z.",
            ),
            _timestamp_without_zone,
        ),
        Check(
            _time(
                "timestamp-with-space",
                "X-Request-Timestamp has a space for the T",
                "Date and time are separated by a T.",
                "Write the time like 2026-01-15T10:30:00Z.",
            ),
            _timestamp_with_space,
        ),
        Check(
            _time(
                "timestamp-of-http",
                "X-Request-Timestamp is written like the header Date",
                "The service takes a date-time of RFC 3339, not the form of e-mail and HTTP.",
                "Write the time like 2026-01-15T10:30:00Z.",
            ),
            _timestamp_of_http,
        ),
        Check(
            _time(
                "timestamp-malformed",
                "X-Request-Timestamp is no date-time of RFC 3339",
                "It has another form, or a day or time that does not exist.",
                "Write the time like 2026-01-15T10:30:00Z.",
            ),
            _timestamp_malformed,
        ),
        Check(
            _time(
                "local-time-as-utc",
                "Local time may have been sent as UTC",
                "The timestamp is {off} {way} the service's time, about {zones}, as if the clock"
                " of another time zone had been marked Z. If you did not send it just now, this says nothing.",
                "Take the time in UTC, or write the zone's offset in place of Z.",
                level=WARNING,
            ),
            _local_time,
        ),
        Check(
            _time(
                "clock-ahead",
                "The clock is ahead",
                "The timestamp is {off} {way} the service's time; at most {allowed} may be between them.",
                "Set the machine's clock, best by NTP, and take the time when you sign.",
            ),
            _clock_ahead,
        ),
        Check(
            _time(
                "clock-behind",
                "The request is old, or the clock is behind",
                "The timestamp is {off} {way} the service's time now; at most {allowed} may be between them. If you"
                " did not send it just now, this says nothing.",
                "Set the machine's clock, best by NTP, and sign each request again before it is sent, a retry too.",
                level=WARNING,
            ),
            _clock_behind,
        ),
    ),
)
