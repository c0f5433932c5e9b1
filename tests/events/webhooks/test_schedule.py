"""When a delivery is attempted again: contract, section 10."""

from datetime import UTC, datetime, timedelta

import pytest

from events.webhooks.results import delay_after, parse_retry_after

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 36_000]


@pytest.mark.parametrize(("attempt", "seconds"), [*enumerate(SECONDS, start=1)])
def test_delays_grow_and_vary_by_a_tenth(attempt: int, seconds: int) -> None:
    delays = [delay.total_seconds() for _ in range(200) if (delay := delay_after(attempt=attempt))]
    assert len(set(delays)) > 100
    assert 0.9 * seconds <= min(delays) < seconds < max(delays) <= 1.1 * seconds


@pytest.mark.parametrize("attempt", [8, 9, 20])
def test_there_is_none_after_the_last(attempt: int) -> None:
    assert delay_after(attempt=attempt, retry_after=timedelta(seconds=5)) is None


def test_a_later_retry_after_is_obeyed_up_to_an_hour() -> None:
    assert delay_after(attempt=1, retry_after=timedelta(minutes=7)) == timedelta(minutes=7)
    assert delay_after(attempt=1, retry_after=timedelta(days=7)) == timedelta(hours=1)


def test_an_earlier_retry_after_changes_nothing() -> None:
    delay = delay_after(attempt=3, retry_after=timedelta(seconds=1))
    assert delay is not None
    assert delay > timedelta(minutes=20)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        (" 120 ", 120),
        ("0", 0),
        ("99999999", 3600),
        ("Thu, 15 Jan 2026 12:10:00 GMT", 600),
        ("Thu, 15 Jan 2026 12:10:00 -0000", 600),
        ("Thu, 15 Jan 2026 11:00:00 GMT", 0),
        ("Thu, 15 Jan 2099 11:00:00 GMT", 3600),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        ("9" * 400, 3600),
        ("9" * 5000, None),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2026 00:00:00 +99999999999999999999", None),
        ("Thu, 99 Jan 2026 12:10:00 GMT", None),
    ],
)
def test_retry_after_in_both_forms(value: str, seconds: int | None) -> None:
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert parse_retry_after(value, now=NOW) == expected
