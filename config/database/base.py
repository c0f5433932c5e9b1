"""Django's PostgreSQL backend, with what each request under /v1 needs of it.

- Prepared statements, several in one round trip, and BEGIN and COMMIT sent with a neighbour: `run`, `queue`.
  Execute wrappers, query capture and the SQL log see them like those of a cursor; transactions are Django's own.
- A wait for an answer has an end: ANSWER_SECONDS of an entry in DATABASES, from when a statement is sent; without it
  there is no limit, as for migrations. `statement_timeout` is the server's own and ends nothing where it stands still.
- A database that cannot be reached is not waited for by each request (config/database/circuit.py).
- The statements of a request are counted and timed for its log line.

The apps use it through partners/db/statements.py.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, cast

from django.db import (
    DEFAULT_DB_ALIAS,
    Error,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)
from django.db.backends.postgresql.base import DatabaseWrapper as PostgresWrapper
from django.db.backends.postgresql.psycopg_any import IsolationLevel
from django.db.backends.utils import CursorDebugWrapper, CursorWrapper, debug_transaction
from django.db.transaction import TransactionManagementError
from psycopg import errors

from config.database.bounded import AnswerTimeoutError, BoundedConnection
from config.database.circuit import Circuit
from config.database.pipeline import BEGIN, COMMIT, Pipeline
from partners.db.statements import Query, Result, is_stale_plan
from partners.monitoring.request_context import request_context

# Between what the server is told to end and what is waited for here: an answer of the server's own comes first.
MARGIN_SECONDS = 0.5

_circuits: dict[str, Circuit] = defaultdict(Circuit)


class DatabaseWrapper(PostgresWrapper):
    """Connects by BoundedConnection; without a pool, as each thread keeps its connection."""

    pipeline: Pipeline

    def __init__(self, settings_dict: dict[str, Any], alias: str = DEFAULT_DB_ALIAS) -> None:
        """As Django's."""
        super().__init__(settings_dict, alias)
        self._queued: list[Query[Any]] = []

    def get_new_connection(self, conn_params: dict[str, Any]) -> BoundedConnection:
        """A new connection; raises psycopg's OperationalError where none can be had within `connect_timeout`."""
        self.isolation_level = IsolationLevel.READ_COMMITTED
        connection = BoundedConnection.connect(**conn_params)
        connection.answer_seconds = self.settings_dict.get("ANSWER_SECONDS")
        self.pipeline = Pipeline(connection)
        self._queued.clear()
        return connection

    # --- Prepared statements ---

    def run(self, queries: Sequence[Query[Any]]) -> list[Result[Any]]:
        """Runs prepared statements in one round trip, behind the queued ones. Returns their results.

        Raises Django's database errors, and what the `check` of a queued one raises.
        """
        self.ensure_connection()
        queued, self._queued = self._queued, []
        queries = [*queued, *queries]
        may_repeat = self.autocommit and self.pipeline.is_idle
        try:
            results = self._observed(queries)
        except NotSupportedError as error:
            if not (may_repeat and is_stale_plan(error)):
                raise
            results = self._observed(queries)
        return results[len(queued) :]

    def run_first(self, queries: Sequence[Query[Any]]) -> list[Result[Any]]:
        """As `run`, for the statements that a request begins with, which only read.

        Where the connection was lost while it was idle, they are sent again on a new one. Raises OperationalError at
        once while the database is known to be out of reach.
        """
        circuit = _circuits[self.alias]
        answers = circuit.check()
        self._renew()
        may_reconnect = self.connection is not None
        while True:
            try:
                results = self.run(queries)
            except (OperationalError, InterfaceError) as error:
                if isinstance(error.__cause__, AnswerTimeoutError):
                    # These statements wait for no lock: the next request would wait as long.
                    circuit.failed(answers)
                    raise
                if self.in_atomic_block or self.is_usable():
                    circuit.answered()
                    raise
                self.close()
                if not may_reconnect:
                    # Not tried again: an attempt to connect can take seconds.
                    circuit.failed(answers)
                    raise
                may_reconnect = False
            except Error:
                # The database has answered, if with an error.
                circuit.answered()
                raise
            else:
                circuit.answered()
                return results

    def _renew(self) -> None:
        """Closes the connection where an earlier request may have left it broken; the next statement opens another."""
        if self.in_atomic_block:
            return
        if self.errors_occurred:
            # To ask whether it is usable, as Django does, would wait for seconds where the server stands still.
            self.close()
        self.close_if_unusable_or_obsolete()

    def queue(self, query: Query[Any]) -> None:
        """Has a statement of the present transaction sent together with the next one, or with COMMIT.

        One with a `check` must be sent before the transaction ends (`run_queued`). Raises TransactionManagementError
        outside a transaction: at its end nothing is left in the queue for another request.
        """
        if not self.in_atomic_block or self.closed_in_transaction:
            raise TransactionManagementError("A statement is queued within an open transaction only.")
        self._queued.append(query)

    def run_queued(self) -> None:
        """Sends what is queued now. Raises as `run`."""
        if self._queued:
            self.run(())

    def _observed(self, queries: Sequence[Query[Any]], *, commit: bool = False) -> list[Result[Any]]:
        """Runs statements as Django's cursors do: within execute wrappers, and logged where queries are."""
        self.validate_no_broken_transaction()
        if not (self.execute_wrappers or self.queries_logged):
            return self._send(queries, commit=commit)
        results: list[Result[Any]] = []
        send: Callable[..., Any] = lambda *_: results.extend(self._send(queries, commit=commit))  # noqa: E731
        for query in reversed(queries):
            send = partial(self._run_wrapped, query, send)
        with ExitStack() as log:
            # The one that is entered last is logged first.
            for query in reversed(queries) if self.queries_logged else ():
                debug = CursorDebugWrapper(None, self)
                log.enter_context(debug.debug_sql(query.statement, cast("Any", query.parameters)))
            send()
        return results

    def _run_wrapped(self, query: Query[Any], send: Callable[..., Any], *_: object) -> Any:
        for wrapper in reversed(self.execute_wrappers):
            send = partial(wrapper, send)
        return send(query.statement, query.parameters, False, {"connection": self, "cursor": None})  # noqa: FBT003

    def _send(self, queries: Sequence[Query[Any]], *, commit: bool) -> list[Result[Any]]:
        """Sends statements in one round trip: BEGIN before them where a transaction is due, COMMIT behind them."""
        begun = time.perf_counter()
        before = [BEGIN] if self.pipeline.is_idle and not self.autocommit else []
        sent = [*before, *queries, COMMIT] if commit else [*before, *queries]
        results = []
        try:
            with self.wrap_database_errors:
                for query, result in zip(sent, self.pipeline.run(sent), strict=True):
                    if query.check is not None:
                        query.check(result)
                    results.append(result)
                if commit and results[-1].status != b"COMMIT":
                    raise errors.InFailedSqlTransaction("A statement failed before: the transaction is rolled back.")
        except NotSupportedError as error:
            if is_stale_plan(error):
                # A migration has changed a column of the result.
                self.pipeline.forget_statements()
            raise
        finally:
            request_context.add_statements(len(queries), time.perf_counter() - begun)
        return results[len(before) : len(before) + len(queries)]

    # --- Transactions ---

    def set_autocommit(self, autocommit: bool, *args: Any, **kwargs: Any) -> None:  # noqa: FBT001 - Django's own
        """As Django's, but for the end of a transaction whose connection was lost: the next statement opens another.

        An attempt to connect can take seconds, and this request has waited already.
        """
        if autocommit and self.connection is None:
            self.autocommit, self.run_on_commit = True, []
            return
        super().set_autocommit(autocommit, *args, **kwargs)

    def _commit(self) -> None:
        """Sends what is queued and COMMIT in one round trip. Raises Django's database errors."""
        self._require_checked()
        queued, self._queued = self._queued, []
        if self.connection is None or (self.pipeline.is_idle and not queued):
            return
        with debug_transaction(self, "COMMIT"):
            self._observed(queued, commit=True)

    def _require_checked(self) -> None:
        """Raises ProgrammingError where what a check could refuse would be committed before the check is called."""
        if any(query.check for query in self._queued):
            raise ProgrammingError("A statement with a check was not sent before the end of its transaction.")

    def _rollback(self) -> None:
        self._queued.clear()
        super()._rollback()  # type: ignore[misc]

    def _savepoint_commit(self, sid: str) -> None:
        self._require_checked()
        super()._savepoint_commit(sid)  # type: ignore[misc]

    def _savepoint_rollback(self, sid: str) -> None:
        self._queued.clear()
        super()._savepoint_rollback(sid)  # type: ignore[misc]

    def close(self) -> None:
        """As Django's; what is queued goes with the connection."""
        self._queued.clear()
        super().close()

    # --- Cursors ---

    def cursor(self) -> Any:
        """As Django's, behind what is queued."""
        self.run_queued()
        return super().cursor()

    def chunked_cursor(self) -> Any:
        """As Django's, behind what is queued."""
        self.run_queued()
        return super().chunked_cursor()

    def make_cursor(self, cursor: Any) -> CursorWrapper:
        """A cursor whose statements are timed."""
        return _TimedCursor(cursor, self)

    def make_debug_cursor(self, cursor: Any) -> CursorDebugWrapper:
        """The same where queries are logged."""
        return _TimedDebugCursor(cursor, self)

    # --- Limits ---

    @contextmanager
    def answers_within(self, seconds: float) -> Iterator[None]:
        """Waits for up to `seconds` for each answer; around a transaction whose `statement_timeout` is as long.

        Around it, so that its COMMIT may take as long too. Nothing changes on a connection without a limit.
        """
        self.ensure_connection()
        driver = self.connection
        before = driver.answer_seconds
        driver.answer_seconds = None if before is None else seconds + MARGIN_SECONDS
        try:
            yield
        finally:
            driver.answer_seconds = before


class _Timed(CursorWrapper):
    """Notes each statement for the log line of the request."""

    def execute(self, sql: Any, params: Any = None) -> Any:
        begun = time.perf_counter()
        try:
            return super().execute(sql, params)
        finally:
            request_context.add_statements(1, time.perf_counter() - begun)

    def executemany(self, sql: Any, param_list: Any) -> Any:
        begun = time.perf_counter()
        try:
            return super().executemany(sql, param_list)
        finally:
            request_context.add_statements(1, time.perf_counter() - begun)


class _TimedCursor(_Timed):
    pass


class _TimedDebugCursor(_Timed, CursorDebugWrapper):
    pass
