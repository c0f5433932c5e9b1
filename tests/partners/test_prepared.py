"""Prepared statements past psycopg's cursors: values, errors and transactions are as with them."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import psycopg
import pytest
from django.db import IntegrityError, transaction
from django.db.utils import DataError, OperationalError

from partners import roles, sql
from partners.models import Partner
from tests.conftest import database_url

ONE = "SELECT %s::int + 1"


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
def test_a_value_comes_back_as_it_went(db: None, cast: str, value: object) -> None:
    assert sql.fetch_one(f"SELECT %s::{cast}", (value,)) == (value,)


def test_a_percent_sign_that_is_one(db: None) -> None:
    assert sql.fetch_one("SELECT '5%%' LIKE %s", ("5_",)) == (True,)


def test_rows_and_counts(partner: Partner) -> None:
    assert sql.fetch_all("SELECT n FROM generate_series(1, %s) AS n", (3,)) == [(1,), (2,), (3,)]
    assert sql.fetch_one("SELECT 1 WHERE %s", (False,)) is None
    assert sql.run("UPDATE partners_partner SET name = %s WHERE id = %s", ("B", partner.pk)) == 1
    assert sql.run("UPDATE partners_partner SET name = %s WHERE id = %s", ("B", -1)) == 0


def test_a_statement_is_prepared_once(db: None) -> None:
    text = "SELECT %s::text || 'prepared once'"
    assert [sql.fetch_one(text, (value,)) for value in "ab"] == [("aprepared once",), ("bprepared once",)]
    found = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE %s"
    assert sql.fetch_one(found, ("%'prepared once'",)) == (1,)


@pytest.mark.parametrize(
    ("statement", "values", "error", "state"),
    [
        ("SELECT 1 / %s", (0,), DataError, "22012"),
        ("SELECT %s::int", ("x",), DataError, "22P02"),
        ("INSERT INTO partners_partner (slug) VALUES (%s)", (None,), IntegrityError, "23502"),
    ],
)
def test_an_error_is_djangos_with_its_state(
    db: None, statement: str, values: tuple[object, ...], error: type[Exception], state: str
) -> None:
    with pytest.raises(error) as failure, transaction.atomic():
        sql.fetch_one(statement, values)
    assert sql.sqlstate(failure.value) == state


def test_it_goes_on_after_a_rollback_to_a_savepoint(db: None) -> None:
    assert sql.fetch_one(ONE, (1,)) == (2,)
    with pytest.raises(DataError), transaction.atomic():
        sql.fetch_one("SELECT 1 / %s", (0,))
    assert sql.fetch_one(ONE, (2,)) == (3,)


def test_what_is_rolled_back_is_undone_and_what_is_committed_stays(committed_partner: Partner) -> None:
    rename, pk = "UPDATE partners_partner SET name = %s WHERE id = %s", committed_partner.pk
    with transaction.atomic():
        sql.run(rename, ("kept", pk))
    with transaction.atomic():
        assert sql.run(rename, ("undone", pk)) == 1
        transaction.set_rollback(True)
    assert sql.fetch_one("SELECT name FROM partners_partner WHERE id = %s", (pk,)) == ("kept",)


def test_a_connection_that_is_cut_is_an_operational_error_and_replaced_afresh(committed_partner: Partner) -> None:
    backend = sql.fetch_one("SELECT pg_backend_pid() + %s", (0,))
    with psycopg.connect(database_url(roles.SERVING), autocommit=True) as other:
        assert other.execute("SELECT pg_terminate_backend(%s, 60000)", backend).fetchone() == (True,)
    with pytest.raises(OperationalError):
        sql.fetch_one(ONE, (1,))
    assert sql.fetch_one_afresh(ONE, (1,)) == (2,)


@pytest.mark.parametrize(
    ("setting", "value"), [("timezone", "America/Toronto"), ("timezone", "Asia/Kolkata"), ("datestyle", "SQL, DMY")]
)
def test_an_instant_that_is_not_written_in_utc_is_refused(db: None, setting: str, value: str) -> None:
    instant = "SELECT '2026-01-15T10:30:00.1Z'::timestamptz"
    assert sql.fetch_text(lambda row: sql.rfc_3339(row[0]), instant, ()) == ["2026-01-15T10:30:00.100000Z"]
    sql.run("SELECT set_config(%s, %s, true)", (setting, value))
    with pytest.raises(ValueError, match="UTC"):
        sql.fetch_text(lambda row: sql.rfc_3339(row[0]), instant, ())
