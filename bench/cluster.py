"""The benchmark's PostgreSQL cluster, with a database for each revision."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from config.embedded.server import OWNER_ROLE, SERVICE_ROLE, SUPERUSER, EmbeddedServer

_SETTINGS = {
    # Durable commits, as in production.
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # The default of 128 MB holds less than the conversions.
    "shared_buffers": "512MB",
    # No checkpoint during a round, which would slow one workload and not the next.
    "max_wal_size": "4GB",
    "checkpoint_timeout": "1h",
    # Its work would count as that of concurrent requests; `refresh` vacuums before each round.
    "autovacuum": "off",
}


class Cluster:
    """A running PostgreSQL."""

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server

    @property
    def pid(self) -> int:
        """The postmaster's process number."""
        return int((self._server.data / "postmaster.pid").read_text().split()[0])

    def url(self, database: str) -> str:
        """Return the URL of a database for the service."""
        return self._server.url(SERVICE_ROLE, database)

    def owner_url(self, database: str) -> str:
        """Return the URL of a database for `migrate` and the seeds."""
        return self._server.url(OWNER_ROLE, database)

    def create(self, database: str) -> None:
        """Create an empty database."""
        with self.connect("postgres") as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(database), sql.Identifier(OWNER_ROLE))
            )

    def refresh(self, database: str) -> None:
        """Vacuum and checkpoint, so that rounds begin alike."""
        with self.connect(database) as connection:
            connection.execute("VACUUM (ANALYZE)")
            connection.execute("CHECKPOINT")

    def connect(self, database: str) -> psycopg.Connection[Any]:
        """Return a superuser's connection in autocommit mode."""
        return psycopg.connect(self._server.url(SUPERUSER, database), autocommit=True)


@contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """Run a new cluster in a folder. Raises EmbeddedServerError."""
    server = EmbeddedServer(folder)
    server.ensure_running()
    try:
        with Cluster(server).connect("postgres") as connection:
            for name, value in _SETTINGS.items():
                connection.execute(sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), value))
        # Some settings need a restart.
        server.leave()
        server.ensure_running()
        yield Cluster(server)
    finally:
        server.leave()
