"""Statements that each connection prepares once, and as few ways to the database and back as they need.

A cursor of psycopg sends, waits and reads step by step, and each step lets go of the interpreter and takes it back; the
other thread of the process comes between. This goes past cursors to what they stand on (psycopg.pq), with psycopg's own
conversion of values. Transactions stay Django's: only their BEGIN, which psycopg sends with the first statement, is
sent here where a statement of ours is the first, and their COMMIT.

A statement goes by itself, in one call of libpq, or together with others in one go (libpq's pipeline mode): a BEGIN
with what follows it, a statement that was left waiting with the next one, the last one with COMMIT.
"""

import itertools
import re
import select
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from psycopg import OperationalError, adapters, errors
from psycopg.adapt import AdaptersMap, PyFormat, Transformer
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.rows import RowMaker
from psycopg.types.string import TextLoader

from partners.bounded import BoundedConnection

Row = tuple[Any, ...]
T = TypeVar("T")

# Of a statement's text: where a value goes, or a percent sign that is one.
_PLACE = re.compile(r"%s|%%")


class Waiting(NamedTuple):
    """A statement that goes together with the next one. take: what is to be done with its rows, before that one's."""

    statement: str
    parameters: Sequence[object]
    take: Callable[[list[Row]], object]


def execute(
    driver: BoundedConnection, statement: str, parameters: Sequence[object], row: RowMaker[T], *, as_text: bool = False
) -> tuple[int, list[T]]:
    """How many rows a statement touched, and those that it returns. Raises psycopg's errors.

    statement: with `%s` for each of `parameters`, whose types are what the statement says of them.
    row: what to make of each row. as_text: whether its values are to be text as PostgreSQL writes it, or null.
    """
    session = _session(driver)
    prepared, waiting = session.prepared(statement, as_text=as_text), session.waiting
    if as_text:
        require_utc(driver)
    is_idle = driver.pgconn.transaction_status == TransactionStatus.IDLE
    begins = is_idle and (session.begins or not driver.autocommit)
    if not begins and waiting is None:
        return prepared.read(prepared.run(parameters), row)
    steps = [session.prepared("BEGIN").step(())] if begins else []
    if waiting is not None:
        session.waiting = None
        before = session.prepared(waiting.statement)
        steps.append(before.step(waiting.parameters))
    results = iter(session.run_together([*steps, prepared.step(parameters)]))
    if begins:
        _checked(driver.pgconn, next(results))
    if waiting is not None:
        waiting.take(before.read(_checked(driver.pgconn, next(results)), tuple)[1])
    return prepared.read(_checked(driver.pgconn, next(results)), row)


def begin(driver: BoundedConnection) -> None:
    """Has BEGIN go together with the next statement, on a connection that would commit each."""
    _session(driver).begins = True


def require_utc(driver: BoundedConnection) -> None:
    """Raises ValueError unless the session writes instants in UTC and as ISO 8601."""
    status = driver.pgconn.parameter_status
    if status(b"TimeZone") not in _UTC or not (status(b"DateStyle") or b"").startswith(b"ISO"):
        raise ValueError("The session's time zone is not UTC, or its date style not ISO.")


_UTC = {b"UTC", b"Etc/UTC"}


def has_begun(driver: BoundedConnection | None) -> bool:
    """Whether `begin` was called, and the transaction has not ended."""
    return driver is not None and _session(driver).begins


def leave_waiting(driver: BoundedConnection, waiting: Waiting) -> None:
    """Has a statement go together with the next one that `execute` is given."""
    _session(driver).waiting = waiting


def taken_back(driver: BoundedConnection) -> Waiting | None:
    """The statement that waits still, which then does no more."""
    session = _session(driver)
    waiting, session.waiting = session.waiting, None
    return waiting


def leave_for_commit(driver: BoundedConnection, statement: str, parameters: Sequence[object]) -> None:
    """Has a statement go together with the COMMIT of the present transaction; its rows are nobody's."""
    _session(driver).last = (statement, parameters)


def commit(driver: BoundedConnection) -> None:
    """Commits, where there is a transaction. Raises psycopg's errors."""
    session, pgconn = _session(driver), driver.pgconn
    last, session.last, session.begins = session.last, None, False
    if pgconn.transaction_status == TransactionStatus.IDLE:
        return
    if last is None:
        results = [session.run(lambda: pgconn.send_query(b"COMMIT"))]
    else:
        results = session.run_together([session.prepared(last[0]).step(last[1]), session.prepared("COMMIT").step(())])
    for result in results:
        _checked(pgconn, result)
    if results[-1].command_status != b"COMMIT":
        raise errors.InFailedSqlTransaction("A statement failed before: the transaction is rolled back.")


def roll_back(driver: BoundedConnection) -> None:
    """Undoes the present transaction, and what was left for its COMMIT. Raises psycopg's errors."""
    session = _session(driver)
    session.last, session.begins = None, False
    type(driver).rollback(driver)


def is_in_transaction(driver: BoundedConnection) -> bool:
    """Whether a transaction is open, failed or about to begin."""
    return _session(driver).begins or driver.pgconn.transaction_status != TransactionStatus.IDLE


def is_silent(driver: BoundedConnection) -> bool:
    """Whether nothing has come from the database since it answered: an end of the session, above all."""
    return driver.pgconn.status == ConnStatus.OK and not _session(driver).poll.poll(0)


class _Session:
    """What we keep of a connection."""

    def __init__(self, driver: BoundedConnection) -> None:
        self.driver = driver
        self.begins = False
        # By when the present statements are to be answered (monotonic); None is never.
        self._deadline: float | None = None
        self.waiting: Waiting | None = None
        self.last: tuple[str, Sequence[object]] | None = None
        self.poll = select.poll()
        self.poll.register(driver.pgconn.socket, select.POLLIN)
        self._statements: dict[tuple[str, bool], _Prepared] = {}

    def prepared(self, statement: str, *, as_text: bool = False) -> "_Prepared":
        """The statement, prepared now if it was not."""
        prepared = self._statements.get((statement, as_text))
        if prepared is None:
            prepared = self._statements[statement, as_text] = _Prepared(self, statement, as_text=as_text)
        return prepared

    def run_together(self, steps: Sequence[tuple[bytes, Any]]) -> list[PGresult]:
        """The result of each of these prepared statements, sent in one go. What follows one that fails is not run."""
        pgconn = self.driver.pgconn
        self._begin_to_wait()
        pgconn.enter_pipeline_mode()
        try:
            for name, given in steps:
                pgconn.send_query_prepared(name, given)
            pgconn.pipeline_sync()
            results = self._results()
            pgconn.exit_pipeline_mode()
        except BaseException:
            # Half an answer is of no use to the next request.
            self.driver.close()
            raise
        return results

    def run(self, send: Callable[[], None]) -> PGresult:
        """The result of one statement. send: gives it to libpq. Raises AnswerTimeoutError."""
        self._begin_to_wait()
        send()
        self._send()
        result, following = self._result(), self._result()
        while following is not None:
            result, following = following, self._result()
        if result is None:
            raise OperationalError("The connection is lost.")
        return result

    def _result(self) -> PGresult | None:
        """The next result, None at the end of a statement's. Raises AnswerTimeoutError."""
        pgconn = self.driver.pgconn
        while pgconn.is_busy():
            self._await(self.poll)
            pgconn.consume_input()
        return pgconn.get_result()

    def _begin_to_wait(self) -> None:
        seconds = self.driver.answer_seconds
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def _await(self, poll: select.poll) -> None:
        """Waits until the server has sent something, or takes more. Raises AnswerTimeoutError."""
        left = None if self._deadline is None else max(self._deadline - time.monotonic(), 0) * 1000
        if not poll.poll(left):
            raise self.driver.give_up()

    def _results(self) -> list[PGresult]:
        pgconn = self.driver.pgconn
        results: list[PGresult] = []
        self._send()
        while True:
            result = self._result()
            if result is None:  # the end of one statement's
                if pgconn.status != ConnStatus.OK:
                    raise OperationalError("The connection is lost.")
            elif result.status == ExecStatus.PIPELINE_SYNC:
                return results
            else:
                results.append(result)

    def _send(self) -> None:
        """Sends all; reads meanwhile, so that neither side waits for the other in vain."""
        pgconn = self.driver.pgconn
        while pgconn.flush():
            with_room = select.poll()
            with_room.register(pgconn.socket, select.POLLIN | select.POLLOUT)
            self._await(with_room)
            pgconn.consume_input()


def _session(driver: BoundedConnection) -> _Session:
    kept: _Session | None = vars(driver).get("partner_service")
    if kept is None:
        kept = vars(driver)["partner_service"] = _Session(driver)
    return kept


_numbers = itertools.count(1)


class _Prepared:
    """A statement that a connection has prepared. It knows how to read the columns of its rows."""

    __slots__ = ("_formats", "_has_loaders", "_name", "_pgconn", "_session", "_transformer")

    def __init__(self, session: "_Session", statement: str, *, as_text: bool) -> None:
        driver = session.driver
        numbers = itertools.count(1)
        text = _PLACE.sub(lambda place: "%" if place[0] == "%%" else f"${next(numbers)}", statement)
        self._name = b"psi_%d" % next(_numbers)
        self._formats = [PyFormat.TEXT] * (next(numbers) - 1)
        self._transformer = Transformer(_TextContext(driver) if as_text else driver)
        self._has_loaders = False
        self._pgconn: PGconn = driver.pgconn
        self._session = session
        _checked(self._pgconn, session.run(lambda: self._pgconn.send_prepare(self._name, text.encode())))

    def step(self, parameters: Sequence[object]) -> tuple[bytes, Any]:
        """Its name and its values, to be sent."""
        # None goes as a null, whatever the stub says of it.
        given: Any = self._transformer.dump_sequence(parameters, self._formats)
        return self._name, given

    def run(self, parameters: Sequence[object]) -> PGresult:
        """Its result, by itself. Raises psycopg's errors."""
        name, given = self.step(parameters)
        return _checked(self._pgconn, self._session.run(lambda: self._pgconn.send_query_prepared(name, given)))

    def read(self, result: PGresult, row: RowMaker[T]) -> tuple[int, list[T]]:
        """See `execute`."""
        if result.status == ExecStatus.COMMAND_OK:
            return result.command_tuples or 0, []
        transformer = self._transformer
        # The columns stay what they are: PostgreSQL refuses to run a prepared statement whose result would change
        # (0A000, see partners/sql.py).
        transformer.set_pgresult(result, set_loaders=not self._has_loaders)
        self._has_loaders = True
        return result.ntuples, transformer.load_rows(0, result.ntuples, row)


_as_text = AdaptersMap(adapters)
for _type in ("int4", "int8", "numeric", "timestamptz", "uuid"):
    _as_text.register_loader(_type, TextLoader)


class _TextContext(NamedTuple):
    """For psycopg: values go as ever, and come as text."""

    connection: BoundedConnection
    adapters: AdaptersMap = _as_text


def _checked(pgconn: PGconn, result: PGresult) -> PGresult:
    if result.status in _WELL:
        return result
    # An error without an SQLSTATE is of libpq: it has lost the server, and does not always mark the connection so.
    if pgconn.status != ConnStatus.OK or not result.error_field(DiagnosticField.SQLSTATE):
        raise OperationalError("The connection is lost.")
    raise errors.error_from_result(result)


_WELL = frozenset({ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK})
