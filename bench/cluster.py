"""The PostgreSQL that is measured: a cluster of the benchmark's own, with a database for each revision."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from config.embedded.server import OWNER_ROLE, SERVICE_ROLE, SUPERUSER, EmbeddedServer

_SETTINGS = {
    # What a commit promises in production it promises here: writes are not made cheap.
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # The embedded server's own 128 MB hold less than the conversions.
    "shared_buffers": "512MB",
    # No checkpoint in the midst of a round, which would fall on one workload and not on the next.
    "max_wal_size": "4GB",
    "checkpoint_timeout": "1h",
    # Nor autovacuum: when it comes is chance, and its work would count as that of the requests it meets.
    # What it would do is done before each round (refresh).
    "autovacuum": "off",
}


class Cluster:
    """A running PostgreSQL."""

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server
        with self.connect("postgres") as connection:
            self.version = str(connection.info.parameter_status("server_version"))

    @property
    def pid(self) -> int:
        """The process that all others of the cluster are children of."""
        return int((self._server.data / "postmaster.pid").read_text().split()[0])

    def url(self, database: str) -> str:
        """Where the service reaches a database."""
        return self._server.url(SERVICE_ROLE, database)

    def owner_url(self, database: str) -> str:
        """Where `migrate` and the seeds reach it."""
        return self._server.url(OWNER_ROLE, database)

    def create(self, database: str) -> None:
        """Makes an empty database."""
        with self.connect("postgres") as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(database), sql.Identifier(OWNER_ROLE))
            )

    def refresh(self, database: str) -> None:
        """Leaves a database as autovacuum and a checkpoint would in time: each round begins alike."""
        with self.connect(database) as connection:
            connection.execute("VACUUM (ANALYZE)")
            connection.execute("CHECKPOINT")

    def connect(self, database: str) -> psycopg.Connection[Any]:
        """A session of the superuser, each statement a transaction of its own."""
        return psycopg.connect(self._server.url(SUPERUSER, database), autocommit=True)


@contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """A new cluster in `folder` while the block runs. Raises EmbeddedServerError where it does not start."""
    server = EmbeddedServer(folder)
    server.ensure_running()
    try:
        with Cluster(server).connect("postgres") as connection:
            for name, value in _SETTINGS.items():
                connection.execute(sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), value))
        # Some of these are read at the start alone.
        server.leave()
        server.ensure_running()
        yield Cluster(server)
    finally:
        server.leave()
