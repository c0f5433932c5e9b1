"""A connection with a limit to the wait for a response, and its prepared statements (libpq's pipeline mode).

It uses psycopg.pq, below the cursors, whose steps each release the interpreter's lock: a statement costs a third.
"""

import itertools
import re
import select
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

import psycopg
from psycopg import OperationalError, errors
from psycopg.abc import RV, PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.rows import RowMaker

from core.request_context import request_context

T = TypeVar("T")

# After this no further host is tried, by the request that tries them.
CONNECT_SECONDS = 2.0
# How long a host may be silent: the least that libpq knows, and `connect_timeout` of DATABASES.
SILENT_SECONDS = 2.0
_PLACEHOLDER = re.compile(r"%s|%%")
_OK_STATUSES = frozenset({ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK})


class Result(NamedTuple, Generic[T]):
    """The result of a statement. rows_affected: changed or returned. status: the command tag, if there are no rows."""

    rows_affected: int
    rows: list[T]
    status: bytes | None


class Query(NamedTuple, Generic[T]):
    """A statement, prepared once per connection, with `%s` for each parameter. row: makes an object of each row."""

    statement: str
    parameters: Sequence[object]
    row: RowMaker[T] = cast("RowMaker[Any]", tuple)


class ResponseTimeoutError(OperationalError):
    """The server has not responded to a statement in time; the connection is closed."""


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that is closed where a response is late, which would be taken for that to the next statement.

    A response may take `response_seconds` (None: no limit), and as long as the request has time.
    """

    response_seconds: float | None = None

    def response_due(self) -> float | None:
        """When a response to what is sent now is due (monotonic), if ever. Raises ResponseTimeoutError if late."""
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


# libpq's parameters of each host, by the hosts and ports of a URL.
_orders: dict[tuple[str, str], list[dict[str, str | None]]] = {}


def connect(parameters: dict[str, Any]) -> BoundedConnection:
    """Return a connection to the first host that accepts one. Raises psycopg.OperationalError.

    psycopg would wait for each that is silent, every time. Here the last good host comes first, and what one attempt
    has not tried, the next one tries: an attempt takes seconds at most, and ends before the request's deadline.
    """
    until = time.monotonic() + CONNECT_SECONDS
    if (deadline := request_context.deadline) is not None:
        until = min(until, deadline - SILENT_SECONDS)
        if until <= time.monotonic():
            raise OperationalError("The request has no time for a connection.")
    url = parameters.get("host", ""), parameters.get("port", "")
    if url not in _orders:
        names, ports = url[0].split(","), url[1].split(",")
        ports = ports * len(names) if len(ports) == 1 else ports
        _orders[url] = [{"host": name or None, "port": port or None} for name, port in zip(names, ports, strict=True)]
    hosts = _orders[url]
    for host in hosts:
        try:
            return BoundedConnection.connect(**parameters | host)
        except OperationalError:
            # Last, unless another thread has done so.
            if _orders[url][0] == host:
                _orders[url] = [*_orders[url][1:], host]
            if host is hosts[-1] or time.monotonic() >= until:
                raise
    raise AssertionError("There is a host.")


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

    def run(self, queries: Sequence[Query[Any]]) -> list[Result[Any]]:
        """Send all in one round trip; return their results. Raises psycopg's error of the first that failed."""
        new = {}
        for query in queries:
            if query.statement not in self._statements and query.statement not in new:
                new[query.statement] = _PreparedStatement(query.statement, self._driver)
        if new:
            self._send([(one.name, one.text) for one in new.values()], self._pgconn.send_prepare)
            self._statements |= new
        statements = [self._statements[query.statement] for query in queries]
        bound = [(one.name, one.dumped(query.parameters)) for one, query in zip(statements, queries, strict=True)]
        results = self._send(bound, self._pgconn.send_query_prepared)
        return [one.loaded(result, query) for one, query, result in zip(statements, queries, results, strict=True)]

    def forget_statements(self) -> None:
        """Prepare each statement again at its next use; a migration can make prepared ones stale."""
        self._statements.clear()

    def _send(self, messages: Sequence[tuple[bytes, Any]], send: Callable[..., None]) -> list[PGresult]:
        """Pass each message's arguments to libpq; return the results. Raises psycopg's error of the first failure."""
        pgconn = self._pgconn
        self._deadline = self._driver.response_due()
        pgconn.enter_pipeline_mode()
        try:
            for message in messages:
                send(*message)
            pgconn.pipeline_sync()
            # Reads meanwhile, so that neither side blocks the other.
            while pgconn.flush():
                poll = select.poll()
                poll.register(pgconn.socket, select.POLLIN | select.POLLOUT)
                self._wait(poll)
                pgconn.consume_input()
            results = self._results()
            pgconn.exit_pipeline_mode()
        except BaseException:
            # The rest of the response would be taken for the response to the next statement.
            self._driver.close()
            raise
        for result in results:
            if result.status not in _OK_STATUSES:
                # An error without an SQLSTATE is libpq's: the connection is lost, even if it is not marked so.
                if pgconn.status != ConnStatus.OK or not result.error_field(DiagnosticField.SQLSTATE):
                    raise OperationalError("The connection is lost.")
                raise errors.error_from_result(result)
        return results

    def _results(self) -> list[PGresult]:
        """Return the results up to the end of the pipeline. Raises ResponseTimeoutError."""
        results: list[PGresult] = []
        pgconn = self._pgconn
        is_busy, get_result = pgconn.is_busy, pgconn.get_result
        while True:
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

    def _wait(self, poll: select.poll) -> None:
        """Wait until the socket is ready. Raises ResponseTimeoutError."""
        left = None if self._deadline is None else max(self._deadline - time.monotonic(), 0) * 1000
        if not poll.poll(left):
            raise self._driver.close_after_timeout()


_numbers = itertools.count(1)


class _PreparedStatement:
    """A prepared statement: its name, and the conversion of its values."""

    __slots__ = ("_formats", "_has_loaders", "_transformer", "name", "text")

    def __init__(self, statement: str, driver: BoundedConnection) -> None:
        numbers = itertools.count(1)
        self.text = _PLACEHOLDER.sub(lambda found: "%" if found[0] == "%%" else f"${next(numbers)}", statement).encode()
        self.name = b"psi_%d" % next(_numbers)
        self._formats = [PyFormat.TEXT] * (next(numbers) - 1)
        self._transformer = Transformer(driver)
        self._has_loaders = False

    def dumped(self, parameters: Sequence[object]) -> Any:
        """Return the converted values."""
        return self._transformer.dump_sequence(parameters, self._formats)

    def loaded(self, result: PGresult, query: Query[Any]) -> Result[Any]:
        """Return the result with the query's kind of rows."""
        if result.status == ExecStatus.COMMAND_OK:
            return Result(result.command_tuples or 0, [], result.command_status)
        # Set once: PostgreSQL refuses a prepared statement whose columns have changed.
        self._transformer.set_pgresult(result, set_loaders=not self._has_loaders)
        self._has_loaders = True
        return Result(result.ntuples, self._transformer.load_rows(0, result.ntuples, query.row), None)
