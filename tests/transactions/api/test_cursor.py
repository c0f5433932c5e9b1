"""Paging: every row that existed when it began, exactly once: contract, section 6."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.formats import parse_timestamp
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.responses import failing_fields
from transactions.api import MAX_TIEBREAK, CursorPagination
from transactions.models import Conversion
from users.models import User

LIST = "/v1/users/ada/transactions"
PAGINATION = CursorPagination({})
NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


def page(api: PartnerClient, limit: int, cursor: str | None = None) -> tuple[list[str], str | None]:
    """The conversionIds of a page, and the next page's cursor."""
    response = api.get(f"{LIST}?limit={limit}" + (f"&cursor={quote(cursor, safe='')}" if cursor else ""))
    assert response.status == 200, response.body
    return [item["conversionId"] for item in response.json()["items"]], response.json()["nextCursor"]


def pages_from(api: PartnerClient, limit: int, cursor: str | None = None) -> list[list[str]]:
    """All pages from this cursor on."""
    pages = []
    while True:
        found, cursor = page(api, limit, cursor)
        pages.append(found)
        if cursor is None:
            return pages


def rows_of(pages: list[list[str]]) -> list[str]:
    return [row for found in pages for row in found]


def ids(conversions: list[Conversion]) -> list[str]:
    return [conversion.conversion_id for conversion in conversions]


def test_pages_hold_every_row_once_in_the_lists_order(api: PartnerClient, ada: User) -> None:
    offsets = [timedelta(0)] * 4
    offsets += [timedelta(microseconds=n) for n in range(1, 4)] + [timedelta(days=n) for n in range(1, 4)]
    made = factories.add_conversions(ada, [NOON + offset for offset in offsets])
    whole, _ = page(api, 100)
    assert sorted(whole) == sorted(ids(made))
    newest_first = sorted(made, key=lambda one: (one.created_at, one.tiebreak), reverse=True)
    assert whole == ids(newest_first)
    for limit in (1, 2, 3, 7, 10, 100):
        pages = pages_from(api, limit)
        assert rows_of(pages) == whole, limit
        assert [len(found) for found in pages] == [limit] * (10 // limit) + [10 % limit] * (10 % limit > 0)


# Among rows of different times, and of one.
@pytest.mark.parametrize("paged", [0, 6])
def test_rows_inserted_meanwhile_neither_repeat_nor_hide_others(api: PartnerClient, ada: User, paged: int) -> None:
    existing = ids(factories.add_conversions(ada, [NOON, NOON, NOON, *(NOON + timedelta(hours=n) for n in range(12))]))
    found, cursor = page(api, 2)
    for _ in range(paged):
        further, cursor = page(api, 2, cursor)
        found += further
    assert cursor is not None
    reached = parse_timestamp(cursor)
    assert (reached == NOON) == bool(paged)
    around = [NOON - timedelta(days=1), NOON + timedelta(days=9), NOON, reached + timedelta(microseconds=1)]
    new = ids(factories.add_conversions(ada, [*around, reached - timedelta(microseconds=1), *[reached] * 20]))
    found += rows_of(pages_from(api, 2, cursor))
    assert len(found) == len(set(found))
    assert [row for row in found if row not in new] == [row for row in page(api, 100)[0] if row in existing]


def test_a_cursor_may_be_used_again_and_with_another_limit(api: PartnerClient, ada: User) -> None:
    factories.add_conversions(ada, [NOON] * 10)
    first, cursor = page(api, 3)
    assert page(api, 3, cursor) == page(api, 3, cursor)
    assert first + page(api, 100, cursor)[0] == page(api, 100)[0]


def test_a_cursor_is_a_date_time_that_begins_with_the_last_rows(api: PartnerClient, ada: User) -> None:
    factories.add_conversions(ada, [NOON + timedelta(microseconds=n * 7) for n in range(4)])
    response = api.get(f"{LIST}?limit=2").json()
    last, cursor = response["items"][-1]["createdAt"], response["nextCursor"]
    assert re.fullmatch(rf"{re.escape(last[:-1])}\d+Z", cursor)
    assert parse_timestamp(cursor) == parse_timestamp(last)


def test_cursors_of_one_instant_do_not_count_its_rows(api: PartnerClient, ada: User) -> None:
    factories.add_conversions(ada, [NOON] * 50)
    tiebreaks = list(Conversion.objects.order_by("id").values_list("tiebreak", flat=True))
    assert tiebreaks not in (sorted(tiebreaks), sorted(tiebreaks, reverse=True))
    assert max(tiebreaks) - min(tiebreaks) > 10**15


FORM = "2026-01-15T12:00:00.000000{}Z"
UNKNOWN_CURSORS = {
    "garbage": "garbage",
    "a number": "5",
    "null": "null",
    "empty": "",
    "space": " ",
    "date": "2026-01-15",
    "six fraction digits alone": FORM.format(""),
    "no fraction": "2026-01-15T12:00:00Z",
    "valid form": FORM.format("1".zfill(19)),
    "no row of the user": "2020-01-15T12:00:00.000000" + "1".zfill(19) + "Z",
    "newer than all": "2030-01-15T12:00:00.000000" + "1".zfill(19) + "Z",
    "tiebreak beyond 64 bits": FORM.format("9" * 19),
    "huge tiebreak": FORM.format("9" * 5000),
    "negative tiebreak": FORM.format("-" + "1".zfill(18)),
    "no such day": FORM.format("1".zfill(19)).replace("01-15", "02-30"),
    "24:00": FORM.format("1".zfill(19)).replace("T12:00", "T24:00"),
    "leap second": FORM.format("1".zfill(19)).replace("12:00:00", "23:59:60"),
    "year 0": FORM.format("1".zfill(19)).replace("2026", "0000"),
    "Arabic digits": FORM.format("١" * 19),
    "NUL": FORM.format("1".zfill(19)) + "\0",
    "SQL": "2026-01-15T12:00:00.000000Z'; SELECT 1; --",
}


def test_an_unknown_cursor_is_refused(api: PartnerClient, ada: User) -> None:
    factories.add_conversions(ada, [NOON] * 5)
    for name, cursor in UNKNOWN_CURSORS.items():
        assert failing_fields(api.get(f"{LIST}?cursor={quote(cursor, safe='')}")) == ["cursor"], name


ALTERED: dict[str, Callable[[str], str]] = {
    "lower case": str.lower,
    "offset": lambda cursor: cursor.replace("Z", "+00:00"),
    "a digit more": lambda cursor: cursor.replace("Z", "0Z"),
    "a digit less": lambda cursor: cursor[:-2] + "Z",
    "without Z": lambda cursor: cursor[:-1],
    "space for T": lambda cursor: cursor.replace("T", " "),
    "white space behind": lambda cursor: cursor + " ",
    "line feed behind": lambda cursor: cursor + "\n",
    "tiebreak of another row": lambda cursor: cursor[:-2] + str((int(cursor[-2]) + 1) % 10) + "Z",
    "a microsecond later": lambda cursor: cursor.replace(".000000", ".000001"),
    "a day later": lambda cursor: cursor.replace("01-15", "01-16"),
}


def test_a_cursor_is_passed_back_unchanged(api: PartnerClient, ada: User) -> None:
    factories.add_conversions(ada, [NOON] * 5)
    _, cursor = page(api, 2)
    for name, alter in ALTERED.items():
        altered = quote(alter(cursor or ""), safe="")
        assert failing_fields(api.get(f"{LIST}?cursor={altered}")) == ["cursor"], name


def test_another_users_cursor_is_refused(api: PartnerClient, ada: User, create_user: Callable[..., Response]) -> None:
    bob = User.objects.get(pk=create_user(externalId="bob").json()["userId"])
    factories.add_conversions(ada, [NOON] * 5)
    factories.add_conversions(bob, [NOON] * 5)
    _, cursor = page(api, 2)
    assert failing_fields(api.get(f"/v1/users/bob/transactions?cursor={cursor}")) == ["cursor"]


@given(st.datetimes(min_value=datetime(1000, 1, 1)), st.integers(0, MAX_TIEBREAK))  # noqa: DTZ001 - UTC
def test_a_position_is_read_back_from_its_cursor(moment: datetime, tiebreak: int) -> None:
    position = (moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), tiebreak)
    cursor = PAGINATION.cursor_of(position)
    assert PAGINATION.parse(cursor) == position
    assert parse_timestamp(cursor) == moment.replace(tzinfo=UTC)


TIMES = (st.integers(0, last) for last in (9999, 19, 39, 29, 69, 69))
DIGITS = st.text("0123456789", min_size=24, max_size=26)


@given(st.builds("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{}Z".format, *TIMES, DIGITS))
def test_a_text_makes_no_position_or_that_of_which_it_is_the_cursor(text: str) -> None:
    position = PAGINATION.parse(text)
    assert position is None or PAGINATION.cursor_of(position) == text
