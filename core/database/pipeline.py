"""A connection with a limit to the wait for a response, and its prepared statements (libpq's pipeline mode).

psycopg's cursors send, wait and read in steps that each release the interpreter's lock. This module uses psycopg.pq,
below the cursors, with psycopg's conversion of values: a statement costs a third.
"""

import itertools
import re
import select
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from psycopg import Connection, OperationalError, errors
from psycopg.abc import RV, PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult

from core.database.query import Query, Result
from core.request_context import request_context

_PLACEHOLDER = re.compile(r"%s|%%")
_OK_STATUSES = frozenset({ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK})

BEGIN: Query[Any] = Query("BEGIN", ())
COMMIT: Query[Any] = Query("COMMIT", ())


class ResponseTimeoutError(OperationalError):
    """The server has not responded to a statement in time; the connection is closed."""


class BoundedConnection(Connection[Any]):
    """A connection that is closed where a response is late, which would be taken for that to the next statement.

    A response may take `response_seconds` (None: no limit), and as long as the request has time.
    """

    response_seconds: float | None = None

    def response_due(self) -> float | None:
        """When the response to a statement is due that is sent now (monotonic); None: no limit.

        Raises ResponseTimeoutError after the request's deadline, so that nothing is sent.
        """
        deadline, seconds = request_context.deadline, self.response_seconds
        if seconds is None:
            return None
        now = time.monotonic()
        if deadline is not None and deadline <= now:
            raise self.close_after_timeout()
        due = now + seconds
        return due if deadline is None or due < deadline else deadline

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """As psycopg's, with a limit. Raises ResponseTimeoutError."""
        due = self.response_due() if timeout is None else None
        if due is None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, due - time.monotonic())
        except OperationalError as error:
            # While a statement is active, the only error is that of the limit.
            if self.pgconn.transaction_status != TransactionStatus.ACTIVE:
                raise
            raise self.close_after_timeout() from error

    def close_after_timeout(self) -> ResponseTimeoutError:
        """Close the connection and return the error to raise."""
        self.close()
        return ResponseTimeoutError("The database did not respond in time.")


class Pipeline:
    """Runs prepared statements on a connection; prepares each at its first use."""

    def __init__(self, driver: BoundedConnection) -> None:
        """driver: an open connection; closed if a response is incomplete."""
        self._driver = driver
        self._pgconn: PGconn = driver.pgconn
        self._poll = select.poll()
        self._poll.register(self._pgconn.socket, select.POLLIN)
        self._statements: dict[str, _PreparedStatement] = {}
        # When the response to the present statements is due (monotonic); None: no limit.
        self._deadline: float | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is open."""
        return self._pgconn.transaction_status == TransactionStatus.IDLE

    def run(self, queries: Sequence[Query[Any]]) -> Iterator[Result[Any]]:
        """Send all queries in one round trip; yield their results in order.

        Raises psycopg's error of a query that failed; PostgreSQL does not run those after it.
        """
        statements = [self._prepared(query) for query in queries]
        if len(statements) == 1:
            bound = statements[0].bound(queries[0].parameters)
            results = [self._await_result(lambda: self._pgconn.send_query_prepared(*bound))]
        else:
            results = self._send_together(
                [statement.bound(query.parameters) for statement, query in zip(statements, queries, strict=True)]
            )
        for statement, query, result in zip(statements, queries, results, strict=True):
            yield statement.read(self._checked(result), query)

    def forget_statements(self) -> None:
        """Prepare each statement again at its next use; a migration can make prepared ones stale."""
        self._statements.clear()

    def _prepared(self, query: Query[Any]) -> "_PreparedStatement":
        statement = self._statements.get(query.statement)
        if statement is not None:
            return statement
        statement = _PreparedStatement(query, self._driver)
        text = statement.text
        self._checked(self._await_result(lambda: self._pgconn.send_prepare(statement.name, text)))
        self._statements[query.statement] = statement
        return statement

    def _send_together(self, bound: Sequence[tuple[bytes, Any]]) -> list[PGresult]:
        pgconn = self._pgconn
        self._deadline = self._driver.response_due()
        pgconn.enter_pipeline_mode()
        try:
            for name, values in bound:
                pgconn.send_query_prepared(name, values)
            pgconn.pipeline_sync()
            self._flush()
            results = self._results()
            pgconn.exit_pipeline_mode()
        except BaseException:
            # The rest of the response would be taken for the response to the next statement.
            self._driver.close()
            raise
        return results

    def _results(self) -> list[PGresult]:
        """Return the results up to the end of the pipeline."""
        results: list[PGresult] = []
        pgconn = self._pgconn
        is_busy, get_result = pgconn.is_busy, pgconn.get_result
        while True:
            # This is _next_result, which would be called twice for each statement.
            while is_busy():
                self._wait(self._poll)
                pgconn.consume_input()
            result = get_result()
            if result is None:  # the end of a statement's results
                if pgconn.status != ConnStatus.OK:
                    raise OperationalError("The connection is lost.")
            elif result.status == ExecStatus.PIPELINE_SYNC:
                return results
            else:
                results.append(result)

    def _await_result(self, send: Callable[[], None]) -> PGresult:
        """Return the result of the statement that `send` passes to libpq."""
        self._deadline = self._driver.response_due()
        send()
        self._flush()
        result, following = self._next_result(), self._next_result()
        while following is not None:
            result, following = following, self._next_result()
        if result is None:
            raise OperationalError("The connection is lost.")
        return result

    def _next_result(self) -> PGresult | None:
        """Return the next result, None at the end of a statement's results. Raises ResponseTimeoutError."""
        while self._pgconn.is_busy():
            self._wait(self._poll)
            self._pgconn.consume_input()
        return self._pgconn.get_result()

    def _flush(self) -> None:
        """Send all; read meanwhile, so that neither side blocks the other."""
        while self._pgconn.flush():
            poll = select.poll()
            poll.register(self._pgconn.socket, select.POLLIN | select.POLLOUT)
            self._wait(poll)
            self._pgconn.consume_input()

    def _wait(self, poll: select.poll) -> None:
        """Wait until the socket is ready. Raises ResponseTimeoutError."""
        left = None if self._deadline is None else max(self._deadline - time.monotonic(), 0) * 1000
        if not poll.poll(left):
            raise self._driver.close_after_timeout()

    def _checked(self, result: PGresult) -> PGresult:
        if result.status in _OK_STATUSES:
            return result
        # An error without an SQLSTATE is libpq's: the connection is lost, even if it is not marked so.
        if self._pgconn.status != ConnStatus.OK or not result.error_field(DiagnosticField.SQLSTATE):
            raise OperationalError("The connection is lost.")
        raise errors.error_from_result(result)


_numbers = itertools.count(1)


class _PreparedStatement:
    """A prepared statement: its name, and the conversion of its values."""

    __slots__ = ("_formats", "_has_loaders", "_transformer", "name", "text")

    def __init__(self, query: Query[Any], driver: BoundedConnection) -> None:
        numbers = itertools.count(1)
        text = _PLACEHOLDER.sub(lambda match: "%" if match[0] == "%%" else f"${next(numbers)}", query.statement)
        self.text = text.encode()
        self.name = b"psi_%d" % next(_numbers)
        self._formats = [PyFormat.TEXT] * (next(numbers) - 1)
        self._transformer = Transformer(driver)
        self._has_loaders = False

    def bound(self, parameters: Sequence[object]) -> tuple[bytes, Any]:
        """Return the name and the converted values."""
        return self.name, self._transformer.dump_sequence(parameters, self._formats)

    def read(self, result: PGresult, query: Query[Any]) -> Result[Any]:
        """Return the result with the query's kind of rows."""
        if result.status == ExecStatus.COMMAND_OK:
            return Result(result.command_tuples or 0, [], result.command_status)
        # Set once: PostgreSQL refuses a prepared statement whose columns have changed.
        self._transformer.set_pgresult(result, set_loaders=not self._has_loaders)
        self._has_loaders = True
        return Result(result.ntuples, self._transformer.load_rows(0, result.ntuples, query.row), None)
