"""Django's PostgreSQL backend, with what requests under /v1 need through core/database/statements.py.

- prepared statements, several in one round trip, and BEGIN and COMMIT sent with a neighbour (`run`, `queue`);
- a limit to the wait for a response, also while the server hangs: RESPONSE_SECONDS in DATABASES, none if absent;
- a circuit breaker, and count and time of the statements of a request, for its log line.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, cast

import structlog
from django.db import DEFAULT_DB_ALIAS, Error, InterfaceError, NotSupportedError, OperationalError
from django.db.backends.postgresql.base import DatabaseWrapper as PostgresWrapper
from django.db.backends.postgresql.psycopg_any import IsolationLevel
from django.db.backends.utils import CursorDebugWrapper, debug_transaction
from django.db.transaction import TransactionManagementError
from psycopg import errors

from core.circuit_breaker import CircuitBreaker
from core.database.errors import is_stale_plan
from core.database.pipeline import BoundedConnection, Pipeline, Query, ResponseTimeoutError, Result, connect
from core.request_context import request_context

# How much longer than `statement_timeout` a response is waited for: the server's own error comes first.
MARGIN_SECONDS = 0.5

# A probe comes so long after a failure, and so long after a probe without an outcome.
PAUSE_SECONDS = 0.5
PROBE_SECONDS = 10.0

# The context of history rows (statements.py), which pghistory's triggers read. To be part of another statement.
CONTEXT_NAME = "pghistory.context_metadata"
SET_CONTEXT = f"set_config('{CONTEXT_NAME}', %s, true)"

BEGIN: Query[Any] = Query("BEGIN", ())
COMMIT: Query[Any] = Query("COMMIT", ())

log = structlog.get_logger("core.database")

_new_circuit = partial(CircuitBreaker, pause_seconds=PAUSE_SECONDS, probe_seconds=PROBE_SECONDS)
_circuits: dict[str, CircuitBreaker] = defaultdict(_new_circuit)


class DatabaseWrapper(PostgresWrapper):
    """A connection of one thread; there is no pool."""

    pipeline: Pipeline

    def __init__(self, settings_dict: dict[str, Any], alias: str = DEFAULT_DB_ALIAS) -> None:
        super().__init__(settings_dict, alias)
        self.execute_wrappers.append(_timed)
        self._queued: list[Query[Any]] = []
        # What each transaction begins with beside BEGIN: the context of history rows (statements.py).
        self.begin_with, self._begun_with = "", ""
        # The circuit's count of failures when the connection was made.
        self._failures = 0

    def get_new_connection(self, conn_params: dict[str, Any]) -> BoundedConnection:
        """Return a new connection. Raises psycopg.OperationalError within seconds."""
        self.isolation_level = IsolationLevel.READ_COMMITTED
        self._failures = _circuits[self.alias].failures
        connection = connect(conn_params)
        connection.response_seconds = self.settings_dict.get("RESPONSE_SECONDS")
        self.pipeline = Pipeline(connection)
        self._queued.clear()
        return connection

    # --- Prepared statements ---

    def run(self, queries: Sequence[Query[Any]]) -> list[Result[Any]]:
        """Run the queued statements and these in one round trip; return the results of these."""
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
        """Run a request's first queries, again if an idle connection was lost. Raises while the circuit is open."""
        circuit = _circuits[self.alias]
        attempt = circuit.attempt()
        if attempt is None:
            raise OperationalError("The database cannot be reached.")
        if not self.in_atomic_block and (self._failures < circuit.failures or self.errors_occurred):
            # It had an error, or is to the server that another thread found frozen: each would wait for it in turn.
            self.close()
        may_reconnect = self.connection is not None
        while True:
            try:
                results = self.run(queries)
            except (OperationalError, InterfaceError) as error:
                if isinstance(error.__cause__, ResponseTimeoutError):
                    # It was no lock: the next request would wait as long.
                    self._open_circuit(attempt)
                    raise
                if self.in_atomic_block or self.is_usable():
                    self._close_circuit()
                    raise
                self.close()
                if not may_reconnect:
                    # No second attempt: each can take seconds.
                    self._open_circuit(attempt)
                    raise
                may_reconnect = False
            except Error:
                self._close_circuit()
                raise
            else:
                self._close_circuit()
                return results

    def _open_circuit(self, attempt: int) -> None:
        if _circuits[self.alias].failed(attempt):
            log.error("database unreachable: requests are refused")

    def _close_circuit(self) -> None:
        if _circuits[self.alias].succeeded():
            log.warning("database reachable again")

    def close_if_unusable_or_obsolete(self) -> None:
        """As Django's, but close a connection after an error: Django would test it, and wait while the server hangs."""
        if self.errors_occurred and not self.in_atomic_block:
            self.close()
        super().close_if_unusable_or_obsolete()

    def queue(self, query: Query[Any]) -> None:
        """Send a statement with the next, or with COMMIT. Raises TransactionManagementError outside a transaction."""
        if not self.in_atomic_block or self.closed_in_transaction:
            raise TransactionManagementError("Statements can be queued only within an open transaction.")
        self._queued.append(query)

    def _observed(self, queries: Sequence[Query[Any]], *, commit: bool = False) -> list[Result[Any]]:
        """Run statements as Django's cursors do: within execute wrappers, and logged if queries are."""
        self.validate_no_broken_transaction()
        if self.execute_wrappers == [_timed] and not self.queries_logged:
            return self._send(queries, commit=commit)
        results: list[Result[Any]] = []
        send: Callable[..., Any] = lambda *_: results.extend(self._send(queries, commit=commit))  # noqa: E731
        for query in reversed(queries):
            send = partial(self._run_wrapped, query, send)
        with ExitStack() as log:
            # The last one entered is logged first.
            for query in reversed(queries) if self.queries_logged else ():
                debug = CursorDebugWrapper(None, self)
                log.enter_context(debug.debug_sql(query.statement, cast("Any", query.parameters)))
            send()
        return results

    def _run_wrapped(self, query: Query[Any], send: Callable[..., Any], *_: object) -> Any:
        for wrapper in reversed(self.execute_wrappers[1:]):
            send = partial(wrapper, send)
        return send(query.statement, query.parameters, False, {"connection": self, "cursor": None})  # noqa: FBT003

    def _send(self, queries: Sequence[Query[Any]], *, commit: bool) -> list[Result[Any]]:
        """Send statements in one round trip, before COMMIT, and after what a transaction begins with if that is due."""
        begun = time.perf_counter()
        before: list[Query[Any]] = []
        if not self.autocommit:
            if self.pipeline.is_idle:
                before, self._begun_with = [BEGIN], ""
            if self._begun_with != self.begin_with:
                before.append(Query(f"SELECT {SET_CONTEXT}", (self.begin_with,)))
                self._begun_with = self.begin_with
        sent = [*before, *queries, COMMIT] if commit else [*before, *queries]
        if not sent:
            return []
        try:
            with self.wrap_database_errors:
                results = self.pipeline.run(sent)
                if commit and results[-1].status != b"COMMIT":
                    raise errors.InFailedSqlTransaction("An earlier statement failed: the transaction is rolled back.")
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
        """As Django's, but do not connect again at the end of a transaction that lost its connection."""
        if autocommit and self.connection is None:
            self.autocommit, self.run_on_commit = True, []
            return
        super().set_autocommit(autocommit, *args, **kwargs)

    def _set_autocommit(self, autocommit: bool) -> None:  # noqa: FBT001 - Django's own
        """Without psycopg's setter, which asks for time that a request may not have. Closes one in a transaction."""
        if not self.pipeline.is_idle:
            self.close_left_open()
            raise OperationalError("The connection is lost, or in a transaction.")
        self.connection._autocommit = autocommit  # noqa: SLF001 - what psycopg's setter does

    def close_left_open(self) -> None:
        """Close a connection in a transaction that something has left open; the next statement connects again."""
        self.in_atomic_block = self.closed_in_transaction = self.needs_rollback = False
        self.savepoint_ids, self.atomic_blocks = [], []
        self.close()
        self.autocommit = True

    def _commit(self) -> None:
        """Send the queued statements and COMMIT in one round trip."""
        queued, self._queued = self._queued, []
        if self.connection is None or (self.pipeline.is_idle and not queued):
            return
        with debug_transaction(self, "COMMIT"):
            self._observed(queued, commit=True)

    def _rollback(self) -> None:
        self._queued.clear()
        super()._rollback()  # type: ignore[misc]

    def _savepoint_rollback(self, sid: str) -> None:
        self._queued.clear()
        super()._savepoint_rollback(sid)  # type: ignore[misc]

    def close(self) -> None:
        """As Django's, without the queued statements."""
        self._queued.clear()
        super().close()

    # --- Cursors ---

    def _cursor(self, name: str | None = None) -> Any:
        if not self.autocommit:
            self.run(())
        return super()._cursor(name)  # type: ignore[misc]

    # --- Limits ---

    @contextmanager
    def response_timeout(self, seconds: float) -> Iterator[None]:
        """Wait so long for each response, around a transaction of that `statement_timeout`: COMMIT may take it too."""
        self.ensure_connection()
        driver = self.connection
        before = driver.response_seconds
        driver.response_seconds = None if before is None else seconds + MARGIN_SECONDS
        try:
            yield
        finally:
            driver.response_seconds = before


def _timed(execute: Callable[..., Any], *given: Any) -> Any:
    """The first execute wrapper of each connection: it times the statements of cursors."""
    begun = time.perf_counter()
    try:
        return execute(*given)
    finally:
        request_context.add_statements(1, time.perf_counter() - begun)
