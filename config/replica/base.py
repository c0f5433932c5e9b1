"""Django's PostgreSQL backend for a replica: it waits for an answer no longer than the primary would take.

A replica's machine can stand still with its connections open. `statement_timeout` is the server's own, which then
does not run, so the wait ends here.
"""

from typing import Any

import psycopg
from django.db.backends.postgresql.base import DatabaseWrapper as PostgresWrapper
from django.db.backends.postgresql.psycopg_any import IsolationLevel
from psycopg.abc import RV, PQGen

ANSWER_SECONDS = 1.0


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that gives up a wait after ANSWER_SECONDS, with an OperationalError; it is then to be closed."""

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """As psycopg's, with a limit where none is given."""
        return super().wait(gen, interval, ANSWER_SECONDS if timeout is None else timeout)


class DatabaseWrapper(PostgresWrapper):
    """Connects by BoundedConnection; without a pool, as each thread keeps its connection."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> BoundedConnection:
        """A new connection; raises psycopg's OperationalError where none can be had within `connect_timeout`."""
        self.isolation_level = IsolationLevel.READ_COMMITTED
        return BoundedConnection.connect(**conn_params)
