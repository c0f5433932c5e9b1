"""Statements that each connection prepares once, and that libpq runs in one call.

A cursor of psycopg sends, waits and reads step by step, and each step lets go of the interpreter and takes it back; the
other thread of the process comes between. This goes past cursors to what they stand on (psycopg.pq), with psycopg's own
conversion of values. Transactions stay Django's: only their BEGIN, which psycopg sends with the first statement, is
sent here where a statement of ours is the first, and their COMMIT.
"""

import itertools
import re
import select
from collections.abc import Sequence
from typing import Any, TypeVar

from psycopg import Connection, OperationalError, errors
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.rows import RowMaker

Row = tuple[Any, ...]
T = TypeVar("T")

# Of a statement's text: where a value goes, or a percent sign that is one.
_PLACE = re.compile(r"%s|%%")


def execute(
    driver: "Connection[Any]", statement: str, parameters: Sequence[object], row: RowMaker[T]
) -> tuple[int, list[T]]:
    """How many rows a statement touched, and those that it returns. Raises psycopg's errors.

    statement: with `%s` for each of `parameters`, whose types are what the statement says of them.
    row: what to make of each row.
    """
    pgconn = driver.pgconn
    if pgconn.transaction_status == TransactionStatus.IDLE and not driver.autocommit:
        _checked(pgconn, pgconn.exec_(b"BEGIN"))
    kept: dict[str, _Prepared] = vars(driver).setdefault("prepared_statements", {})
    prepared = kept.get(statement)
    if prepared is None:
        prepared = kept[statement] = _Prepared(driver, statement)
    return prepared.run(pgconn, parameters, row)


def commit(driver: "Connection[Any]") -> None:
    """Commits, where there is a transaction. Raises psycopg's errors."""
    pgconn = driver.pgconn
    if pgconn.transaction_status != TransactionStatus.IDLE:
        _checked(pgconn, pgconn.exec_(b"COMMIT"))


def is_silent(driver: "Connection[Any]") -> bool:
    """Whether nothing has come from the database since it answered: an end of the session, above all."""
    kept = vars(driver)
    poll: select.poll | None = kept.get("poll")
    if poll is None:
        poll = kept["poll"] = select.poll()
        poll.register(driver.pgconn.socket, select.POLLIN)
    return not poll.poll(0)


_numbers = itertools.count(1)


class _Prepared:
    """A statement that a connection has prepared. It knows how to read the columns of its rows."""

    __slots__ = ("_formats", "_has_loaders", "_name", "_transformer")

    def __init__(self, driver: "Connection[Any]", statement: str) -> None:
        numbers = itertools.count(1)
        text = _PLACE.sub(lambda place: "%" if place[0] == "%%" else f"${next(numbers)}", statement)
        self._name = b"psi_%d" % next(_numbers)
        self._formats = [PyFormat.TEXT] * (next(numbers) - 1)
        self._transformer = Transformer(driver)
        self._has_loaders = False
        _checked(driver.pgconn, driver.pgconn.prepare(self._name, text.encode()))

    def run(self, pgconn: PGconn, parameters: Sequence[object], row: RowMaker[T]) -> tuple[int, list[T]]:
        """See `execute`."""
        transformer = self._transformer
        # None goes as a null, whatever the stub says of it.
        given: Any = transformer.dump_sequence(parameters, self._formats)
        result = _checked(pgconn, pgconn.exec_prepared(self._name, given))
        if result.status == ExecStatus.COMMAND_OK:
            return result.command_tuples or 0, []
        # The columns stay what they are: PostgreSQL refuses to run a prepared statement whose result would change.
        transformer.set_pgresult(result, set_loaders=not self._has_loaders)
        self._has_loaders = True
        return result.ntuples, transformer.load_rows(0, result.ntuples, row)


def _checked(pgconn: PGconn, result: PGresult) -> PGresult:
    if result.status in _WELL:
        return result
    if pgconn.status != ConnStatus.OK:
        raise OperationalError("The connection is lost.")
    raise errors.error_from_result(result)


_WELL = frozenset({ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK})
