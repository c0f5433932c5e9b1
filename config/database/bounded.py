"""A connection of psycopg that does not wait for an answer without end."""

from typing import Any

import psycopg
from psycopg.abc import RV, PQGen
from psycopg.pq import TransactionStatus


class AnswerTimeoutError(psycopg.OperationalError):
    """The server has the statement and has not answered in time. The connection is closed."""


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that gives a wait up after `answer_seconds` (None: never), and is closed then.

    What comes later would be taken for the answer to another statement.
    """

    answer_seconds: float | None = None

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """As psycopg's, with a limit where none is given. Raises AnswerTimeoutError."""
        if timeout is not None or self.answer_seconds is None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, self.answer_seconds)
        except psycopg.OperationalError as error:
            # While the server works on a statement, the only error is that of a wait that took too long.
            if self.pgconn.transaction_status != TransactionStatus.ACTIVE:
                raise
            raise self.give_up() from error

    def give_up(self) -> AnswerTimeoutError:
        """Closes the connection; returns the error to raise."""
        self.close()
        return AnswerTimeoutError("The database did not answer in time.")
