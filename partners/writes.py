"""A transaction of a few prepared statements, in as few ways to the database and back as there can be.

The claim that comes first goes together with BEGIN and with the first statement of what is done; what is kept of it
goes with COMMIT. Django's own transaction asks at each step, and its bookkeeping costs as much as a statement; where
the ORM is at work, it is the one to take.
"""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from django.db import Error, transaction

from partners import prepared, sql
from partners.observing.facts import facts
from partners.prepared import Row, Waiting

Statement = tuple[str, Sequence[object]]


class Write:
    """The context of a transaction: committed where its block ends well, else undone.

    It undoes, and raises, what `take` raises, and Django's database errors. Inside another transaction, as in a test,
    it is a savepoint.
    """

    def __init__(self, claim: Statement, take: Callable[[list[Row]], object]) -> None:
        """claim: the first statement, and its values.

        take: is given the claim's rows before the block sees what its first statement found. Where the block has no
        statement, the claim is sent at its end, even if that is an error of the block's.
        """
        self._waiting = Waiting(*claim, take)
        self._last: Statement | None = None
        self._connection = sql.default_connection()
        self._savepoint = transaction.atomic() if self._connection.in_atomic_block else None

    def keep(self, last: Statement) -> None:
        """Has a statement run as the transaction's last."""
        self._last = last

    def __enter__(self) -> Self:
        connection = self._connection
        if self._savepoint:
            self._savepoint.__enter__()
        else:
            connection.ensure_connection()
            prepared.begin(connection.connection)
        connection.execute_wrappers.append(_refuse)
        self._driver = connection.connection
        prepared.leave_waiting(self._driver, self._waiting)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._connection.execute_wrappers.remove(_refuse)
        try:
            left = prepared.taken_back(self._driver)
            if left is None:
                facts.add_statement(0)  # it went with another
            elif not isinstance(error, Error):
                left.take(sql.fetch_all(left.statement, left.parameters))
            if error is None:
                self._commit()
        except BaseException as later:
            self._undo(later)
            raise
        if error is not None:
            self._undo(error)

    def _commit(self) -> None:
        if self._savepoint:
            if self._last:
                sql.run(*self._last)
            self._savepoint.__exit__(None, None, None)
            return
        if self._last:
            facts.add_statement(0)
            prepared.leave_for_commit(self._driver, *self._last)
        with self._connection.wrap_database_errors:
            self._driver.commit()

    def _undo(self, error: BaseException) -> None:
        if self._savepoint:
            self._savepoint.__exit__(type(error), error, error.__traceback__)
            return
        try:
            with self._connection.wrap_database_errors:
                self._driver.rollback()
        except Error:
            # What it was in the midst of is undone by its end.
            self._connection.close()


def _refuse(*_: Any) -> None:
    raise RuntimeError("The ORM has no place in a Write: its statements would not be of the transaction.")
