"""The tests' own embedded PostgreSQL."""

from config.embedded.server import EmbeddedServer


class UnsafeServer(EmbeddedServer):
    """A server whose data need not survive a power failure: TRUNCATE and CREATE DATABASE wait for no disk.

    Tables are analysed by tests alone: a plan does not depend on when autovacuum comes by.
    """

    options = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off"
