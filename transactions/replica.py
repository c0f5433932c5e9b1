"""Lists are read from a replica where REPLICA_DATABASE_URL names one, and it can be relied on; else from the primary.

Only their rows: who asks, whose user it is and all that is written stay with the primary. A replica is relied on
while it answers and has what the primary had a moment ago. What it cannot know yet, the primary is asked: an empty
list may be of a user that the replica does not have, and a cursor's row may not have reached it.
"""

import time
from collections.abc import Callable
from functools import lru_cache, partial

import structlog
from django.db import DatabaseError, InterfaceError, connections

from partners.db import statements
from partners.db.statements import Query
from transactions import keyset
from transactions.keyset import Row
from transactions.positions import Position

log = structlog.get_logger("transactions.replica")

ALIAS = "replica"
# How often it is looked at whether the replica keeps up; its lists are at most three times as old.
LOOK_SECONDS = 2.0
# How long to do without a replica that failed, so that each request does not wait for it.
PAUSE_SECONDS = 10.0

_PRIMARY_POSITION = "SELECT pg_current_wal_lsn()::text"
# Null where the database is no replica.
_HAS_REACHED = "SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= %s::pg_lsn"


def fetch(query: Query[Row], start: Position | None) -> list[Row]:
    """A page of a user's list, from the replica or from the primary; raises the primary's errors.

    query: of UserRows, from `start` on.
    """
    replica = _replica()
    found = replica.read(partial(statements.fetch, query, ALIAS)) if replica else None
    # What the replica has is relied on, never that something is absent there.
    has_rows = found and found[0].created_at
    if found and has_rows and start in {None, keyset.position(found[0])}:
        return found
    return statements.fetch(query)


class Replica:
    """Whether the replica is relied on just now, as far as this process knows. One for all its threads."""

    def __init__(self) -> None:
        self._relied_on = False
        self._next_look = 0.0
        # Where the primary's log stood, and when (monotonic seconds).
        self._primary_position: str | None = None
        self._position_at = 0.0

    def read(self, statement: Callable[[], list[Row]]) -> list[Row] | None:
        """What the statement answers, or None where the replica is not relied on, or fails meanwhile."""
        try:
            self._look_at_times()
            if self._relied_on:
                return statement()
        except (DatabaseError, InterfaceError) as failure:
            self._next_look = time.monotonic() + PAUSE_SECONDS
            self._rely(relied_on=False, exc_info=failure)
        # It may be broken, or about to answer what nobody waits for any more.
        connections[ALIAS].close()
        return None

    def _look_at_times(self) -> None:
        now = time.monotonic()
        if now < self._next_look:
            return
        # First, so that no other thread looks too, nor waits with this one.
        self._next_look = now + LOOK_SECONDS
        self._rely(relied_on=self._keeps_up(now))

    def _keeps_up(self, now: float) -> bool:
        """Whether the replica has what the primary had at the look before this one, and that was not long ago."""
        known, age = self._primary_position, now - self._position_at
        (self._primary_position,) = statements.fetch_one(_PRIMARY_POSITION, ()) or (None,)
        self._position_at = now
        if known is None or age > 2 * LOOK_SECONDS:
            return False
        return statements.fetch_one(_HAS_REACHED, (known,), using=ALIAS) == (True,)

    def _rely(self, *, relied_on: bool, **cause: object) -> None:
        if relied_on != self._relied_on:
            self._relied_on = relied_on
            log.warning("lists are read from the replica" if relied_on else "lists are read from the primary", **cause)


def is_configured() -> bool:
    """Whether there is a replica."""
    return ALIAS in connections


@lru_cache(maxsize=1)
def _replica() -> Replica | None:
    return Replica() if is_configured() else None
