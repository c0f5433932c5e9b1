"""Prepared statements of our database backend: values, errors, and how Django sees them."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.db import DEFAULT_DB_ALIAS, IntegrityError, connection, connections, transaction
from django.db.utils import DataError
from django.test.utils import CaptureQueriesContext

from core.database import errors, statements
from core.database.pipeline import Query
from partners.models import Partner
from tests.support.round_trips import round_trips

ONE = "SELECT %s::int + 1"
FAIL = "SELECT 1 / %s::int"


@pytest.mark.parametrize(
    ("cast", "value"),
    [
        ("text", "a\\b'%s%%\n\u20ac"),
        ("text", ""),
        ("text", None),
        ("bigint", 2**62),
        ("boolean", False),
        ("numeric", Decimal("100.00")),
        ("bytea", bytes(range(256))),
        ("uuid", UUID("2c0e9dd4-6a9a-4a2f-9b43-0d9a2fe2b3cf")),
        ("date", date(1990, 12, 10)),
        ("timestamptz", datetime(2026, 1, 15, 12, 30, 0, 123456, tzinfo=UTC)),
        ("interval", timedelta(minutes=5)),
        ("bigint[]", [1, None, 2]),
        ("text[]", ["a,b", '"', None]),
    ],
)
def test_a_value_comes_back_as_it_was_sent(db: None, cast: str, value: object) -> None:
    assert statements.fetch_one(f"SELECT %s::{cast}", (value,)) == (value,)


def test_a_doubled_percent_sign_is_literal(db: None) -> None:
    assert statements.fetch_one("SELECT '5%%' LIKE %s", ("5_",)) == (True,)


def test_rows_and_counts(partner: Partner) -> None:
    assert statements.fetch_all("SELECT n FROM generate_series(1, %s) AS n", (3,)) == [(1,), (2,), (3,)]
    assert statements.fetch_one("SELECT 1 WHERE %s", (False,)) is None
    assert statements.run("UPDATE partners_partner SET name = %s WHERE id = %s", ("B", partner.pk)) == 1
    assert statements.run("UPDATE partners_partner SET name = %s WHERE id = %s", ("B", -1)) == 0


def test_a_statement_is_prepared_once(db: None) -> None:
    text = "SELECT %s::text || 'prepared once'"
    assert [statements.fetch_one(text, (value,)) for value in "ab"] == [("aprepared once",), ("bprepared once",)]
    found = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE %s"
    assert statements.fetch_one(found, ("%'prepared once'",)) == (1,)
    with round_trips() as made:
        statements.fetch_one(text, ("c",))
    assert (made.count, made.sent) == (1, ("Bind", "Describe", "Execute", "Sync"))


@pytest.mark.parametrize(
    ("statement", "values", "error", "state"),
    [
        ("SELECT 1 / %s", (0,), DataError, "22012"),
        ("SELECT %s::int", ("x",), DataError, "22P02"),
        ("INSERT INTO partners_partner (slug) VALUES (%s)", (None,), IntegrityError, "23502"),
    ],
)
def test_errors_are_djangos_with_an_sqlstate(
    db: None, statement: str, values: tuple[object, ...], error: type[Exception], state: str
) -> None:
    with pytest.raises(error) as failure, transaction.atomic():
        statements.fetch_one(statement, values)
    assert errors.sqlstate(failure.value) == state


# --- Several in one round trip ---


def test_several_take_one_round_trip(committed_partner: Partner) -> None:
    queries: list[Query[Any]] = [Query(ONE, (number,)) for number in (1, 2)] + [
        Query("SELECT generate_series(1, %s::int)", (3,))
    ]
    assert statements.fetch_first(*queries) == [[(2,)], [(3,)], [(1,), (2,), (3,)]]
    with round_trips() as made:
        statements.fetch_first(*queries)
    assert (made.count, made.sent.count("Execute"), made.sent.count("Sync")) == (1, 3, 1)


def test_an_error_in_the_middle_is_raised_and_the_connection_goes_on(committed_partner: Partner) -> None:
    with pytest.raises(DataError):
        statements.fetch_first(Query(ONE, (1,)), Query(FAIL, (0,)), Query(ONE, (2,)))
    with round_trips() as made:
        assert statements.fetch_first(Query(ONE, (1,)), Query(ONE, (2,))) == [[(2,)], [(3,)]]
    assert made.count == 1


def test_values_larger_than_the_sockets_buffers_go_through(committed_partner: Partner) -> None:
    much = "x" * 8_000_000
    echo: Query[Any] = Query("SELECT %s::text", (much,))
    assert statements.fetch_first(echo, echo) == [[(much,)], [(much,)]]


# --- Django's instrumentation ---


def test_query_capture_sees_each_begin_and_commit(committed_partner: Partner) -> None:
    with CaptureQueriesContext(connection) as captured:
        statements.fetch_first(Query(ONE, (1,)), Query(FAIL, (1,)))
        statements.fetch_one(ONE, (1,))
        with transaction.atomic():
            statements.queue(Query(ONE, (1,)))
            statements.fetch_one(FAIL, (1,))
            statements.queue(Query(ONE, (2,)))
    assert [query["sql"] for query in captured] == [ONE, FAIL, ONE, "BEGIN", ONE, FAIL, ONE, "COMMIT"]
    assert all(float(query["time"]) >= 0 for query in captured)


def test_execute_wrappers_are_called_around_each(committed_partner: Partner) -> None:
    seen: list[tuple[str, Any, bool]] = []

    def wrapper(execute: Callable[..., Any], statement: str, values: Any, many: bool, context: Any) -> Any:  # noqa: FBT001 - Django's own
        assert context["connection"] is connections[DEFAULT_DB_ALIAS]
        seen.append((statement, values, many))
        return execute(statement, values, many, context)

    with connection.execute_wrapper(wrapper):
        assert statements.fetch_first(Query(ONE, (1,)), Query(ONE, (2,))) == [[(2,)], [(3,)]]
        with transaction.atomic():
            statements.queue(Query(ONE, (4,)))
    assert seen == [(ONE, (1,), False), (ONE, (2,), False), (ONE, (4,), False)]
    statements.fetch_one(ONE, (1,))
    assert len(seen) == 3


def test_an_execute_wrapper_sees_errors_and_may_raise(committed_partner: Partner) -> None:
    failures: list[Exception] = []

    def note(execute: Callable[..., Any], *given: Any) -> Any:
        try:
            return execute(*given)
        except Exception as failure:
            failures.append(failure)
            raise

    with pytest.raises(DataError), connection.execute_wrapper(note):
        statements.fetch_one(FAIL, (0,))
    assert [type(failure) for failure in failures] == [DataError]

    def refuse(*_: Any) -> Any:
        raise PermissionError

    rename = "UPDATE partners_partner SET name = %s WHERE id = %s"
    with pytest.raises(PermissionError), connection.execute_wrapper(refuse):
        statements.run(rename, ("refused", committed_partner.pk))
    committed_partner.refresh_from_db()
    assert committed_partner.name != "refused"
