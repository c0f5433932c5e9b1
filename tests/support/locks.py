"""Sessions that wait for each other."""

from core.database import statements
from tests.support.watched import wait_until

_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def wait_for_sessions(count: int) -> None:
    """Wait until so many sessions of this database wait for a lock; also within a transaction."""

    def wait() -> bool:
        # A transaction sees one snapshot of all sessions.
        statements.fetch_all("SELECT pg_stat_clear_snapshot()", ())
        return statements.fetch_all(_WAITING, ()) == [(count,)]

    wait_until(wait)
