"""A psycopg connection with a limit to the wait for an answer."""

from typing import Any

import psycopg
from psycopg.abc import RV, PQGen
from psycopg.pq import TransactionStatus


class AnswerTimeoutError(psycopg.OperationalError):
    """The server has not answered a statement in time; the connection is closed."""


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that is closed if an answer takes longer than `answer_seconds` (None: no limit).

    A late answer would be taken for the answer to the next statement.
    """

    answer_seconds: float | None = None

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """As psycopg's, with a limit. Raises AnswerTimeoutError."""
        if timeout is not None or self.answer_seconds is None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, self.answer_seconds)
        except psycopg.OperationalError as error:
            # While a statement is active, the only error is that of the limit.
            if self.pgconn.transaction_status != TransactionStatus.ACTIVE:
                raise
            raise self.give_up() from error

    def give_up(self) -> AnswerTimeoutError:
        """Close the connection and return the error to raise."""
        self.close()
        return AnswerTimeoutError("The database did not answer in time.")
