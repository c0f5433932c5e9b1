"""A connection of psycopg that does not wait for an answer without end."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.abc import RV, PQGen
from psycopg.pq import TransactionStatus

# Between what the server is told to end and what is waited for here: an answer of the server's own comes first.
MARGIN_SECONDS = 0.5


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
            # Of an error that the server has told of, the connection is not in the midst.
            if self.pgconn.transaction_status != TransactionStatus.ACTIVE:
                raise
            raise self.give_up() from error

    def give_up(self) -> AnswerTimeoutError:
        """Closes the connection; the error to raise."""
        self.close()
        return AnswerTimeoutError("The database did not answer in time.")


@contextmanager
def answers_within(connection: BaseDatabaseWrapper, seconds: float) -> Iterator[None]:
    """Waits for up to `seconds` for each answer; around a transaction whose `statement_timeout` is as long.

    Around it, so that its COMMIT may take as long too. Nothing changes on a connection without a limit.
    """
    connection.ensure_connection()
    driver = connection.connection
    before = driver.answer_seconds
    driver.answer_seconds = None if before is None else seconds + MARGIN_SECONDS
    try:
        yield
    finally:
        driver.answer_seconds = before
