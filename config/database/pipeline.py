"""Prepared statements of one connection, and several of them in one round trip (libpq's pipeline mode).

A cursor of psycopg sends, waits and reads step by step, and each step releases the interpreter's lock and takes it
again. This module uses what cursors are made of (psycopg.pq), with psycopg's own conversion of values: a statement
costs a third (docs/performance.md). Nothing here knows of transactions but the texts BEGIN and COMMIT.
"""

import itertools
import re
import select
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from psycopg import OperationalError, adapters, errors
from psycopg.adapt import AdaptersMap, PyFormat, Transformer
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.types.string import TextLoader

from config.database.bounded import BoundedConnection
from partners.db.statements import Query, Result

# Of a statement's text: where a value goes, or a percent sign that is one.
_PLACEHOLDER = re.compile(r"%s|%%")
_OK_STATUSES = frozenset({ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK})
_UTC = frozenset({b"UTC", b"Etc/UTC"})

BEGIN: Query[Any] = Query("BEGIN", ())
COMMIT: Query[Any] = Query("COMMIT", ())


class Pipeline:
    """Runs prepared statements on a connection, each prepared when it is first met."""

    def __init__(self, driver: BoundedConnection) -> None:
        """driver: an open connection; closed by this class where an answer is incomplete."""
        self._driver = driver
        self._pgconn: PGconn = driver.pgconn
        self._poll = select.poll()
        self._poll.register(self._pgconn.socket, select.POLLIN)
        # By text, and whether values are text.
        self._statements: dict[tuple[str, bool], _PreparedStatement] = {}
        # By when the present statements are to be answered (monotonic); None is never.
        self._deadline: float | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is open, failed or under way."""
        return self._pgconn.transaction_status == TransactionStatus.IDLE

    def run(self, queries: Sequence[Query[Any]]) -> Iterator[Result[Any]]:
        """Sends all queries in one round trip; yields the result of each, in order.

        Those behind one that fails are not run. Raises psycopg's errors, at the query that failed.
        """
        statements = [self._prepared(query) for query in queries]
        if len(statements) == 1:
            results = [self._send_one(statements[0], queries[0].parameters)]
        else:
            results = self._send_together(
                [statement.bound(query.parameters) for statement, query in zip(statements, queries, strict=True)]
            )
        for statement, query, result in zip(statements, queries, results, strict=True):
            yield statement.read(self._checked(result), query)

    def forget_statements(self) -> None:
        """Has each statement prepared again at its next use: one that was prepared before a migration can be stale."""
        self._statements.clear()

    def _prepared(self, query: Query[Any]) -> "_PreparedStatement":
        statement = self._statements.get((query.statement, query.as_text))
        if statement is not None:
            return statement
        if query.as_text:
            self._require_utc()
        statement = _PreparedStatement(query, self._driver)
        text = statement.text
        self._checked(self._await_result(lambda: self._pgconn.send_prepare(statement.name, text)))
        self._statements[query.statement, query.as_text] = statement
        return statement

    def _require_utc(self) -> None:
        status = self._pgconn.parameter_status
        if status(b"TimeZone") not in _UTC or not (status(b"DateStyle") or b"").startswith(b"ISO"):
            raise ValueError("The session's time zone is not UTC, or its date style not ISO.")

    def _send_one(self, statement: "_PreparedStatement", parameters: Sequence[object]) -> PGresult:
        bound = statement.bound(parameters)
        return self._await_result(lambda: self._pgconn.send_query_prepared(*bound))

    def _send_together(self, bound: Sequence[tuple[bytes, Any]]) -> list[PGresult]:
        pgconn = self._pgconn
        self._set_deadline()
        pgconn.enter_pipeline_mode()
        try:
            for name, values in bound:
                pgconn.send_query_prepared(name, values)
            pgconn.pipeline_sync()
            self._flush()
            results = self._results()
            pgconn.exit_pipeline_mode()
        except BaseException:
            # The rest of the answer would be taken for the answer to another request's statement.
            self._driver.close()
            raise
        return results

    def _results(self) -> list[PGresult]:
        """The results up to the end of the pipeline."""
        results: list[PGresult] = []
        while True:
            result = self._next_result()
            if result is None:  # the end of one statement's
                if self._pgconn.status != ConnStatus.OK:
                    raise OperationalError("The connection is lost.")
            elif result.status == ExecStatus.PIPELINE_SYNC:
                return results
            else:
                results.append(result)

    def _await_result(self, send: Callable[[], None]) -> PGresult:
        """The result of one statement. send: gives it to libpq."""
        self._set_deadline()
        send()
        self._flush()
        result, following = self._next_result(), self._next_result()
        while following is not None:
            result, following = following, self._next_result()
        if result is None:
            raise OperationalError("The connection is lost.")
        return result

    def _next_result(self) -> PGresult | None:
        """The next result, None at the end of a statement's. Raises AnswerTimeoutError."""
        while self._pgconn.is_busy():
            self._wait(self._poll)
            self._pgconn.consume_input()
        return self._pgconn.get_result()

    def _flush(self) -> None:
        """Sends all; reads meanwhile, so that neither side waits for the other in vain."""
        while self._pgconn.flush():
            poll = select.poll()
            poll.register(self._pgconn.socket, select.POLLIN | select.POLLOUT)
            self._wait(poll)
            self._pgconn.consume_input()

    def _set_deadline(self) -> None:
        seconds = self._driver.answer_seconds
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def _wait(self, poll: select.poll) -> None:
        """Waits until the server has sent something, or takes more. Raises AnswerTimeoutError."""
        left = None if self._deadline is None else max(self._deadline - time.monotonic(), 0) * 1000
        if not poll.poll(left):
            raise self._driver.give_up()

    def _checked(self, result: PGresult) -> PGresult:
        if result.status in _OK_STATUSES:
            return result
        # An error without an SQLSTATE is of libpq: it has lost the server, and does not always mark the connection so.
        if self._pgconn.status != ConnStatus.OK or not result.error_field(DiagnosticField.SQLSTATE):
            raise OperationalError("The connection is lost.")
        raise errors.error_from_result(result)


_numbers = itertools.count(1)
_as_text = AdaptersMap(adapters)
for _type in ("int4", "int8", "numeric", "timestamptz", "uuid"):
    _as_text.register_loader(_type, TextLoader)


class _TextContext(NamedTuple):
    """For psycopg: values are sent as ever, and read as text."""

    connection: BoundedConnection
    adapters: AdaptersMap = _as_text


class _PreparedStatement:
    """The name of a prepared statement, and how its values are written and read."""

    __slots__ = ("_formats", "_has_loaders", "_transformer", "name", "text")

    def __init__(self, query: Query[Any], driver: BoundedConnection) -> None:
        numbers = itertools.count(1)
        text = _PLACEHOLDER.sub(lambda found: "%" if found[0] == "%%" else f"${next(numbers)}", query.statement)
        self.text = text.encode()
        self.name = b"psi_%d" % next(_numbers)
        self._formats = [PyFormat.TEXT] * (next(numbers) - 1)
        self._transformer = Transformer(_TextContext(driver) if query.as_text else driver)
        self._has_loaders = False

    def bound(self, parameters: Sequence[object]) -> tuple[bytes, Any]:
        """Its name and its values, to be sent."""
        return self.name, self._transformer.dump_sequence(parameters, self._formats)

    def read(self, result: PGresult, query: Query[Any]) -> Result[Any]:
        """The result with its rows as the query wants them."""
        if result.status == ExecStatus.COMMAND_OK:
            return Result(result.command_tuples or 0, [], result.command_status)
        # The columns stay what they are: PostgreSQL refuses to run a prepared statement whose result would change.
        self._transformer.set_pgresult(result, set_loaders=not self._has_loaders)
        self._has_loaders = True
        return Result(result.ntuples, self._transformer.load_rows(0, result.ntuples, query.row), None)
