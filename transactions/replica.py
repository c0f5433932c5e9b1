"""Reads the rows of lists from a replica (REPLICA_DATABASE_URL), if there is one and it is up to date.

Everything else stays with the primary. A replica is in use while it answers and has replayed what the primary had a
moment ago. What it may lack is read from the primary: an empty list can be of a user that the replica does not have
yet, and the row of a cursor may not have reached it.
"""

import time
from collections.abc import Callable
from functools import lru_cache, partial

import structlog
from django.db import DatabaseError, InterfaceError, connections

from partners.db import statements
from partners.db.statements import Query
from transactions import keyset
from transactions.keyset import Position, Row

log = structlog.get_logger("transactions.replica")

ALIAS = "replica"
# The interval of checks of the replica's lag; its lists are at most three times as old.
CHECK_SECONDS = 2.0
# The pause after a failure, so that not every request waits for the replica.
PAUSE_SECONDS = 10.0

_PRIMARY_POSITION = "SELECT pg_current_wal_lsn()::text"
# Null if the database is no replica.
_HAS_REPLAYED = "SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= %s::pg_lsn"


def fetch(query: Query[Row], start: Position | None) -> list[Row]:
    """The rows of a list's query from `start` on, from the replica or the primary. Raises the primary's errors."""
    replica = _replica()
    rows = replica.read(partial(statements.fetch, query, ALIAS)) if replica else None
    if rows and keyset.without_placeholder(rows) and start in {None, keyset.position(rows[0])}:
        return rows
    return statements.fetch(query)


class Replica:
    """Whether the replica is in use. One object for all threads of a process."""

    def __init__(self) -> None:
        self._in_use = False
        # The last check's result holds until then: while another thread makes the next one, after an idle hour, the
        # replica may have fallen behind.
        self._in_use_until = 0.0
        self._next_check = 0.0
        # The primary's position in the WAL at the last check, and the time of that check (monotonic seconds).
        self._primary_position: str | None = None
        self._checked_at = 0.0

    def read(self, statement: Callable[[], list[Row]]) -> list[Row] | None:
        """The statement's rows, or None if the replica is not in use or fails."""
        try:
            self._check_when_due()
            if self._in_use:
                return statement() if time.monotonic() < self._in_use_until else None
        except (DatabaseError, InterfaceError) as failure:
            self._next_check = time.monotonic() + PAUSE_SECONDS
            self._use(in_use=False, exc_info=failure)
        # The connection may be broken, or about to receive an answer that came too late.
        connections[ALIAS].close()
        return None

    def _check_when_due(self) -> None:
        now = time.monotonic()
        if now < self._next_check:
            return
        # First, so that no other thread checks at the same time.
        self._next_check = now + CHECK_SECONDS
        self._use(in_use=self._is_up_to_date(now))
        self._in_use_until = self._next_check

    def _is_up_to_date(self, now: float) -> bool:
        """Whether the replica has replayed the primary's position of the last check, if that was recent."""
        position, age = self._primary_position, now - self._checked_at
        (self._primary_position,) = statements.fetch_one(_PRIMARY_POSITION, ()) or (None,)
        self._checked_at = now
        if position is None or age > 2 * CHECK_SECONDS:
            return False
        return statements.fetch_one(_HAS_REPLAYED, (position,), using=ALIAS) == (True,)

    def _use(self, *, in_use: bool, **cause: object) -> None:
        if in_use != self._in_use:
            self._in_use = in_use
            log.warning("lists are read from the replica" if in_use else "lists are read from the primary", **cause)


def is_configured() -> bool:
    """Whether there is a replica."""
    return ALIAS in connections


@lru_cache(maxsize=1)
def _replica() -> Replica | None:
    return Replica() if is_configured() else None
