"""Prepared statements on Django's connection, for the few queries of every request; everything else uses the ORM."""

import random
import re
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, NamedTuple, TypeVar, cast

import psycopg
import structlog
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, NotSupportedError, OperationalError, connections
from psycopg.rows import RowMaker

log = structlog.get_logger("partners.db.statements")

Row = tuple[Any, ...]
T = TypeVar("T")

# serialization_failure, deadlock_detected
RETRYABLE_SQLSTATES = frozenset({"40001", "40P01"})
# feature_not_supported: "cached plan must not change result type", after a migration that changed a column's type.
STALE_PLAN = "0A000"
FOREIGN_KEY_VIOLATION = "23503"
LOCK_NOT_AVAILABLE = "55P03"
# read_only_sql_transaction, as during a failover.
READ_ONLY = "25006"
_REFUSED_CONNECTION = re.compile(r"failed: (?:FATAL: +|fe_sendauth: |(?=SSL error|server does not support SSL))(.+)")
_STATEMENT_TIMEOUT = "SELECT set_config('statement_timeout', %s, true)"
# The maximum pause before each retry.
RETRY_PAUSES_SECONDS = (0.05, 0.2)
# A retry may wait for a lock as long as the first attempt, and a response is due within 5 seconds.
RETRY_WITHIN_SECONDS = 1.9


class Result(NamedTuple, Generic[T]):
    """The result of a statement. rows_affected: changed or returned. status: the command tag, if there are no rows."""

    rows_affected: int
    rows: list[T]
    status: bytes | None


class Query(NamedTuple, Generic[T]):
    """A statement, prepared once per connection, and its parameters.

    statement: with `%s` for each parameter, typed by its context or a cast. row: makes an object of each row.
    as_text: return values as PostgreSQL's text.
    """

    statement: str
    parameters: Sequence[object]
    row: RowMaker[T] = cast("RowMaker[Any]", tuple)
    as_text: bool = False


def _connection(using: str = DEFAULT_DB_ALIAS) -> Any:
    # A config.database.base.DatabaseWrapper, which this layer may not import.
    return connections[using]


def fetch(query: Query[T], using: str = DEFAULT_DB_ALIAS) -> list[T]:
    """The rows of a query. Raises Django's database errors, as do the functions below."""
    rows: list[T] = _connection(using).run((query,))[0].rows
    return rows


def fetch_both(first: Query[Any], second: Query[Any] | None) -> tuple[list[Any], list[Any] | None]:
    """The rows of two queries, in one round trip; None for the second where there is none."""
    results = _connection().run((first, second) if second else (first,))
    return results[0].rows, results[1].rows if second else None


def fetch_first(*queries: Query[Any]) -> list[list[Any]]:
    """The rows of the read-only queries that a request begins with, in one round trip.

    Retried if the connection was lost while idle. Raises at once while the database is known to be unreachable.
    """
    return [result.rows for result in _connection().run_first(queries)]


def fetch_all(statement: str, parameters: Sequence[object]) -> list[Row]:
    """All rows of a statement."""
    return fetch(Query(statement, parameters))


def fetch_one(statement: str, parameters: Sequence[object], using: str = DEFAULT_DB_ALIAS) -> Row | None:
    """The first row of a statement, or None."""
    rows: list[Row] = fetch(Query(statement, parameters), using)
    return rows[0] if rows else None


def run(statement: str, parameters: Sequence[object]) -> int:
    """Run a statement; return the number of changed rows."""
    count: int = _connection().run((Query(statement, parameters),))[0].rows_affected
    return count


def queue(query: Query[Any]) -> None:
    """Send a statement of the present transaction together with the next one, or with COMMIT."""
    _connection().queue(query)


def response_timeout(seconds: float) -> AbstractContextManager[None]:
    """Wait up to `seconds` for each response; for use around a transaction with that `statement_timeout`."""
    context: AbstractContextManager[None] = _connection().response_timeout(seconds)
    return context


def fetch_within(seconds: int, query: Query[T]) -> list[T]:
    """The rows of a query that may take so long.

    Limit and query are one round trip and one transaction: a process that is frozen afterwards holds no lock. Within a
    transaction, the limit holds up to its end.
    """
    with response_timeout(seconds):
        rows: list[T] = _connection().run((Query(_STATEMENT_TIMEOUT, (f"{seconds}s",)), query))[-1].rows
    return rows


def retry_rolled_back(write: Callable[[], T]) -> T:
    """Call `write` again if PostgreSQL rolled it back for a deadlock, a serialization failure or a stale plan.

    write: opens and ends a transaction, and has no effect outside it. Not retried inside another transaction.
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
            log.warning("transaction retried", sqlstate=state)
        # The pause is random, so that two transactions do not collide again.
        time.sleep(random.uniform(0, pause))  # noqa: S311 - nothing secret
    return write()


def sqlstate(failure: BaseException | None) -> str | None:
    """PostgreSQL's error code, if the failure has one."""
    if not isinstance(failure, (DatabaseError, InterfaceError)):
        return None
    state: str | None = getattr(failure.__cause__, "sqlstate", None)
    return state


def is_stale_plan(failure: BaseException) -> bool:
    """Whether the result type of a prepared statement has changed."""
    return sqlstate(failure) == STALE_PLAN


def is_reference_gone(failure: BaseException) -> bool:
    """Whether a row was refused as what it refers to is no more, such as a user who was erased meanwhile."""
    return sqlstate(failure) == FOREIGN_KEY_VIOLATION


def may_be_committed(failure: BaseException) -> bool:
    """Whether a transaction that ended with this failure may have been committed, or may still be.

    False where the server refused a statement, which rolls back; a server that shuts down (57P…) does not say.
    """
    state = sqlstate(failure)
    is_in_doubt = is_unreachable(failure) and (state is None or state.startswith("57P"))
    return is_in_doubt or not isinstance(failure, Exception)


def connection_refusal(failure: BaseException) -> str:
    """What the server, or libpq for it, said against a connection: an absent role, a wrong password. Empty: nothing.

    libpq has no SQLSTATE for it. A server in a language without the word FATAL says nothing here.
    """
    said = _REFUSED_CONNECTION.search(str(failure)) if sqlstate(failure) is None else None
    return said[1].rstrip(".") if said else ""


def is_unreachable(failure: BaseException) -> bool:
    """Whether the database is unreachable or did not respond in time."""
    if isinstance(failure, (OperationalError, InterfaceError)):
        return True
    # psycopg raises a plain DatabaseError without an SQLSTATE if libpq lost the server during a response.
    cause = failure.__cause__
    return isinstance(failure, DatabaseError) and type(cause) is psycopg.DatabaseError and cause.sqlstate is None
