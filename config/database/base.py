"""Django's PostgreSQL backend, whose waits for an answer have an end.

`statement_timeout` is the server's own: a server that stands still, with its connections open, does not keep it.
ANSWER_SECONDS of an entry in DATABASES says how long an answer may take, from when a statement is sent; without it
there is no limit, as for migrations.
"""

from typing import Any

from django.db.backends.postgresql.base import DatabaseWrapper as PostgresWrapper
from django.db.backends.postgresql.psycopg_any import IsolationLevel

from partners.bounded import BoundedConnection


class DatabaseWrapper(PostgresWrapper):
    """Connects by BoundedConnection; without a pool, as each thread keeps its connection."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> BoundedConnection:
        """A new connection; raises psycopg's OperationalError where none can be had within `connect_timeout`."""
        self.isolation_level = IsolationLevel.READ_COMMITTED
        connection = BoundedConnection.connect(**conn_params)
        connection.answer_seconds = self.settings_dict.get("ANSWER_SECONDS")
        return connection
