"""Prepared statements for the few queries that every request makes.

Each stands in one named function beside its model; everything else is the ORM. They run on Django's connection, in
Django's transactions, by what our database backend adds to it (config/database/base.py).
"""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, NamedTuple, TypeVar, cast

import psycopg
import structlog
from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    connections,
)
from psycopg.rows import RowMaker

log = structlog.get_logger("partners.db.statements")

Row = tuple[Any, ...]
T = TypeVar("T")

# serialization_failure, deadlock_detected
RETRYABLE_SQLSTATES = frozenset({"40001", "40P01"})
# feature_not_supported: "cached plan must not change result type", after a migration that changed a column's type.
STALE_PLAN = "0A000"
# The longest pause before each retry.
RETRY_PAUSES_SECONDS = (0.05, 0.2)
# A retry may wait for a lock as long as the first attempt, and an answer is due within 5 seconds.
RETRY_WITHIN_SECONDS = 1.9


class Result(NamedTuple, Generic[T]):
    """What a statement returned. rows_affected: touched or returned. status: PostgreSQL's command tag, without rows."""

    rows_affected: int
    rows: list[T]
    status: bytes | None


class Query(NamedTuple, Generic[T]):
    """A statement to be prepared once per connection, and its values.

    statement: with `%s` for each of `parameters`, whose types are what the statement says of them.
    row: what to make of each row. as_text: whether values come as the text that PostgreSQL writes, or None.
    check: called with the result before that of any later statement is used; may raise.
    """

    statement: str
    parameters: Sequence[object]
    row: RowMaker[T] = cast("RowMaker[Any]", tuple)
    as_text: bool = False
    check: Callable[[Result[Any]], object] | None = None


def _connection(using: str = DEFAULT_DB_ALIAS) -> Any:
    """Django's connection. Its type, config.database.base.DatabaseWrapper, is above this layer."""
    return connections[using]


def fetch(query: Query[T], using: str = DEFAULT_DB_ALIAS) -> list[T]:
    """The rows of one query; raises Django's database errors."""
    rows: list[T] = _connection(using).run((query,))[0].rows
    return rows


def fetch_first(*queries: Query[Any]) -> list[list[Any]]:
    """The rows of each of the reading queries that a request begins with, in one round trip.

    They are sent again where the connection was lost while it was idle. Raises OperationalError at once while the
    database is known to be out of reach, and Django's other database errors.
    """
    return [result.rows for result in _connection().run_first(queries)]


def fetch_all(statement: str, parameters: Sequence[object]) -> list[Row]:
    """The rows that a statement returns; raises Django's database errors."""
    query: Query[Row] = Query(statement, parameters)
    return fetch(query)


def fetch_one(statement: str, parameters: Sequence[object], using: str = DEFAULT_DB_ALIAS) -> Row | None:
    """The first row that a statement returns, or None; raises Django's database errors."""
    query: Query[Row] = Query(statement, parameters)
    rows = fetch(query, using)
    return rows[0] if rows else None


def run(statement: str, parameters: Sequence[object]) -> int:
    """How many rows a statement changed; raises Django's database errors."""
    query: Query[Row] = Query(statement, parameters)
    count: int = _connection().run((query,))[0].rows_affected
    return count


def queue(query: Query[Any]) -> None:
    """Has a statement of the present transaction sent together with the next one, or with COMMIT."""
    _connection().queue(query)


def run_queued() -> None:
    """Sends what is queued now, where anything is. Raises Django's database errors, and what a check raises."""
    _connection().run_queued()


def answers_within(seconds: float) -> AbstractContextManager[None]:
    """Waits for up to `seconds` for each answer; around a transaction whose `statement_timeout` is as long."""
    context: AbstractContextManager[None] = _connection().answers_within(seconds)
    return context


def rfc_3339(written: str) -> str:
    """An instant as answers carry it (contract, section 6).

    written: as a query with `as_text` returns it, such as 2026-01-15 10:30:00.1+00.
    """
    return f"{written[:10]}T{written[11:19]}.{written[20:-3]:0<6}Z"


def retry_rolled_back(write: Callable[[], T]) -> T:
    """What a transaction returns, retried where PostgreSQL rolled it back for another's sake, or for a stale plan.

    write: opens and commits the transaction, and does nothing that is not rolled back with it. Inside another one it is
    not retried. Raises what it raises, in the end also for those causes: deadlock, serialization failure, stale plan.
    """
    begun = time.monotonic()
    for pause in RETRY_PAUSES_SECONDS:
        try:
            return write()
        except (OperationalError, NotSupportedError) as error:
            state = sqlstate(error)
            late = time.monotonic() - begun > RETRY_WITHIN_SECONDS
            if late or _connection().in_atomic_block or state not in RETRYABLE_SQLSTATES | {STALE_PLAN}:
                raise
            log.warning("a write is retried", sqlstate=state)
        # Two that met here should not meet again.
        time.sleep(random.uniform(0, pause))  # noqa: S311 - nothing secret
    return write()


def sqlstate(failure: BaseException) -> str | None:
    """PostgreSQL's code for a failed statement; None where the failure is another."""
    if not isinstance(failure, (DatabaseError, InterfaceError)):
        return None
    state: str | None = getattr(failure.__cause__, "sqlstate", None)
    return state


def is_stale_plan(failure: BaseException) -> bool:
    """Whether a prepared statement's result has changed since it was prepared."""
    return sqlstate(failure) == STALE_PLAN


def is_unreachable(failure: BaseException) -> bool:
    """Whether a failure means that the database cannot be reached, or did not answer in time.

    psycopg raises a plain DatabaseError, without an SQLSTATE, where libpq lost the server amid an answer.
    """
    if isinstance(failure, (OperationalError, InterfaceError)):
        return True
    cause = failure.__cause__
    return isinstance(failure, DatabaseError) and type(cause) is psycopg.DatabaseError and cause.sqlstate is None
