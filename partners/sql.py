"""Prepared statements for the few queries that every request makes.

They go past Django's cursors, whose wrappers cost three times the statement (partners/prepared.py).
Each statement stands in one named function beside its model; everything else is the ORM.
"""

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import psycopg
import structlog
from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    Error,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    connection,
    connections,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.rows import RowMaker

from partners import prepared
from partners.bounded import AnswerTimeoutError
from partners.observing.facts import facts
from partners.reach import Reach

log = structlog.get_logger("partners.sql")

Row = prepared.Row
T = TypeVar("T")

# serialization_failure, deadlock_detected
UNDONE = frozenset({"40001", "40P01"})
# feature_not_supported: "cached plan must not change result type", after a migration that changed a column's type.
STALE_PLAN = "0A000"
# The longest pause before each repetition.
REPEAT_PAUSES_SECONDS = (0.05, 0.2)
# A repetition may wait for a lock as long as the first attempt, and an answer is due within 5 seconds.
REPEAT_WITHIN_SECONDS = 1.9
# A connection that has just answered is not looked at: should it be lost, the request is done again.
FRESH_SECONDS = 1.0

_reach = Reach()


def fetch_all(statement: str, parameters: Sequence[object]) -> list[Row]:
    """The rows that a statement returns; raises Django's database errors."""
    return _execute(statement, parameters, DEFAULT_DB_ALIAS, tuple)[1]


def fetch_text(
    row: RowMaker[T], statement: str, parameters: Sequence[object], using: str = DEFAULT_DB_ALIAS
) -> list[T]:
    """What `row` makes of each row that a statement returns, its values the text that PostgreSQL writes.

    That is of instants, numbers and uuids; see `rfc_3339`. Raises Django's database errors, and ValueError where the
    session does not write instants in UTC, as settings have it.
    """
    return _execute(statement, parameters, using, row, as_text=True)[1]


def rfc_3339(written: str) -> str:
    """An instant as answers carry it (contract, section 6).

    written: as `fetch_text` gives it, such as 2026-01-15 10:30:00.1+00.
    """
    return f"{written[:10]}T{written[11:19]}.{written[20:-3]:0<6}Z"


def fetch_one(statement: str, parameters: Sequence[object], using: str = DEFAULT_DB_ALIAS) -> Row | None:
    """The first row that a statement returns, or None; raises Django's database errors."""
    rows = _execute(statement, parameters, using, tuple)[1]
    return rows[0] if rows else None


def run(statement: str, parameters: Sequence[object]) -> int:
    """How many rows a statement changed; raises Django's database errors."""
    return _execute(statement, parameters, DEFAULT_DB_ALIAS, tuple)[0]


def fetch_one_afresh(statement: str, parameters: Sequence[object]) -> Row | None:
    """As `fetch_one`, for a request's first, reading statement: a connection that broke while idle is replaced.

    Raises OperationalError at once where the database is known to be away (partners/reach.py).
    """
    return _fetch_one_connecting(statement, parameters, _reach.check())


def _fetch_one_connecting(statement: str, parameters: Sequence[object], answers: int) -> Row | None:
    was_open, in_write = connection.connection is not None, prepared.has_begun(connection.connection)
    try:
        row = fetch_one(statement, parameters)
    except (OperationalError, InterfaceError) as error:
        if is_answer_timeout(error):
            # Another wait as long would be too long for the request.
            raise
        if connection.in_atomic_block or in_write or connection.is_usable():
            _reach.found()
            raise
        connection.close()
        if was_open:
            return _fetch_one_connecting(statement, parameters, answers)
        # Not tried again: to connect in vain can take seconds.
        _reach.lost(answers)
        raise
    except Error:
        # It has answered, if with a refusal.
        _reach.found()
        raise
    _reach.found()
    return row


class _OfThread(threading.local):
    connection: BaseDatabaseWrapper | None = None
    # When the primary last answered (perf_counter).
    answered_at: float = 0.0


_of_thread = _OfThread()


def renew() -> None:
    """Before a request: closes this thread's connection where one left it broken; the next statement opens another."""
    connection = _of_thread.connection
    if connection is None:
        # Looked up once: for Django it is a matter of the task too, and there is none.
        connection = _of_thread.connection = connections[DEFAULT_DB_ALIAS]
    # What Django looks at besides is an age and a health check, which settings leave out.
    if connection.errors_occurred or not connection.autocommit:
        connection.close_if_unusable_or_obsolete()


def default_connection() -> BaseDatabaseWrapper:
    """Django's connection of this thread to the primary."""
    return _of_thread.connection or connections[DEFAULT_DB_ALIAS]


def is_well() -> bool:
    """Whether this thread's connection is open, with nothing wrong that can be seen without a statement.

    A request whose first statement is not `fetch_one_afresh` looks here before: a session that the database ended
    while it was idle has its word of that waiting to be read.
    """
    driver = default_connection().connection
    if driver is None or _reach.is_in_doubt:
        return False
    # To look would let go of the interpreter, for which another thread waits.
    return time.perf_counter() - _of_thread.answered_at < FRESH_SECONDS or prepared.is_silent(driver)


def answered() -> None:
    """Notes that the database has answered a request's first statement."""
    _reach.found()


def repeat_where_undone(write: Callable[[], T]) -> T:
    """What a transaction returns, begun anew where PostgreSQL undid it for another's sake: deadlock, serialization.

    A transaction with a stale plan is repeated too, on a new connection, which prepares its statements again.

    write: opens and commits the transaction, and does nothing that is not undone with it. Inside another one it is
    not repeated. Raises what it raises, in the end also for those three causes.
    """
    begun = time.monotonic()
    for pause in REPEAT_PAUSES_SECONDS:
        try:
            return write()
        except (OperationalError, NotSupportedError) as error:
            state = sqlstate(error)
            late = time.monotonic() - begun > REPEAT_WITHIN_SECONDS
            if late or connection.in_atomic_block or state not in UNDONE | {STALE_PLAN}:
                raise
            log.warning("a write is repeated", sqlstate=state)
            if state == STALE_PLAN:
                connection.close()
                continue
        # Who met here should not meet again.
        time.sleep(random.uniform(0, pause))  # noqa: S311 - nothing secret
    return write()


def sqlstate(failure: Exception) -> str | None:
    """PostgreSQL's code for a failed statement; None where the failure is another."""
    if not isinstance(failure, (DatabaseError, InterfaceError)):
        return None
    state: str | None = getattr(failure.__cause__, "sqlstate", None)
    return state


def is_answer_timeout(failure: Exception) -> bool:
    """Whether the database took a statement and did not answer in time (partners/bounded.py)."""
    return isinstance(failure.__cause__, AnswerTimeoutError)


def is_unreachable(failure: BaseException) -> bool:
    """Whether a failure means that the database cannot be reached, or did not answer in time.

    psycopg raises a plain DatabaseError, without an SQLSTATE, where libpq lost the server amid an answer.
    """
    if isinstance(failure, (OperationalError, InterfaceError)):
        return True
    cause = failure.__cause__
    return isinstance(failure, DatabaseError) and type(cause) is psycopg.DatabaseError and cause.sqlstate is None


def _execute(
    statement: str, parameters: Sequence[object], using: str, row: RowMaker[T], *, as_text: bool = False
) -> tuple[int, list[T]]:
    """How many rows a statement touched, and those that it returns.

    A connection whose plan of the statement is stale is replaced, outside a transaction: the new one prepares it again.
    """
    connection = default_connection() if using == DEFAULT_DB_ALIAS else connections[using]
    try:
        return _execute_on(connection, statement, parameters, row, as_text=as_text)
    except NotSupportedError as error:
        if sqlstate(error) != STALE_PLAN or prepared.is_in_transaction(connection.connection):
            raise
        log.warning("a connection is replaced: the result of a prepared statement has changed")
        connection.close()
        return _execute_on(connection, statement, parameters, row, as_text=as_text)


def _execute_on(
    connection: BaseDatabaseWrapper, statement: str, parameters: Sequence[object], row: RowMaker[T], *, as_text: bool
) -> tuple[int, list[T]]:
    connection.ensure_connection()
    begun, answers = time.perf_counter(), _reach.answers
    try:
        with connection.wrap_database_errors:
            found = prepared.execute(connection.connection, statement, parameters, row, as_text=as_text)
    except OperationalError as error:
        if connection.alias == DEFAULT_DB_ALIAS and is_answer_timeout(error):
            # The next request would wait as long.
            _reach.lost(answers)
        raise
    else:
        if connection.alias == DEFAULT_DB_ALIAS:
            _of_thread.answered_at = time.perf_counter()
        return found
    finally:
        facts.add_statement(time.perf_counter() - begun)
