"""The relay: gives committed events their positions in the partners' feeds (contract, section 10).

Order of insert is not order of commit: a reader of ids would skip an event that commits late. The relay sees only
committed events, is alone while it works, and gives each the next position of its partner's feed. So positions become
visible in their order, whatever commits when. They are kept in tables, not in a sequence: a restored dump goes on.
"""

import time
from typing import NamedTuple

import structlog
from django.db import DatabaseError, InterfaceError, connections, transaction

from partners.db import statements

log = structlog.get_logger("partners.events.relay")

BATCH = 1000
REPLICA = "replica"
# Lists are read from a replica that lags by at most this (transactions/replica.py): no need to wait for longer.
REPLICA_SECONDS = 6.0

_LOCK = "SELECT pg_try_advisory_xact_lock(7305001)"
# The committed events without a position, and the end of the WAL, which is after their commits.
_UNPLACED = """
    SELECT array_agg(id), pg_current_wal_lsn()::text
      FROM (SELECT id FROM partners_event WHERE position IS NULL ORDER BY id LIMIT %s) AS unplaced
"""
_HAS_REPLAYED = "SELECT NOT pg_is_in_recovery() OR pg_last_wal_replay_lsn() >= %s::pg_lsn"
_PLACE = """
    WITH unplaced AS (
        SELECT id, partner_id, row_number() OVER (PARTITION BY partner_id ORDER BY id) AS number
          FROM partners_event WHERE id = ANY(%s::bigint[]) AND position IS NULL
    ), counts AS (
        SELECT partner_id, count(*) AS count FROM unplaced GROUP BY partner_id
    ), feeds AS (
        INSERT INTO partners_eventfeed AS feed (partner_id, last_position)
        SELECT partner_id, count FROM counts ORDER BY partner_id
            ON CONFLICT (partner_id)
            DO UPDATE SET last_position = feed.last_position + excluded.last_position, updated_at = now()
     RETURNING partner_id, last_position
    )
    UPDATE partners_event AS event SET position = feeds.last_position - counts.count + unplaced.number
      FROM unplaced JOIN counts USING (partner_id) JOIN feeds USING (partner_id)
     WHERE event.id = unplaced.id
"""


class _Batch(NamedTuple):
    ids: list[int]
    # The primary's position in the WAL, and monotonic seconds.
    wal_position: str
    read_at: float


class Relay:
    """Places events in batches. Any number of processes may have one; one at a time works."""

    def __init__(self) -> None:
        self._batch: _Batch | None = None

    def place(self) -> int:
        """Give up to BATCH committed events their positions; return their number. Raises Django's database errors.

        With a replica, events wait until it has replayed what they report.
        """
        batch = self._batch or self._read()
        if batch is None:
            return 0
        if REPLICA in connections and not _is_on_replica(batch):
            self._batch = batch
            return 0
        self._batch = None
        with transaction.atomic(durable=True):
            if statements.fetch_one(_LOCK, ()) != (True,):
                return 0
            return statements.run(_PLACE, (batch.ids,))

    def _read(self) -> _Batch | None:
        ids, wal_position = statements.fetch_one(_UNPLACED, (BATCH,)) or (None, "")
        return _Batch(ids, wal_position, time.monotonic()) if ids else None


def _is_on_replica(batch: _Batch) -> bool:
    """Whether the replica has the events' transactions, or lags so much that lists do not use it."""
    if time.monotonic() - batch.read_at > REPLICA_SECONDS:
        return True
    try:
        return statements.fetch_one(_HAS_REPLAYED, (batch.wal_position,), using=REPLICA) == (True,)
    except (DatabaseError, InterfaceError) as failure:
        log.warning("replica not reached", exc_info=failure)
        connections[REPLICA].close()
        return False
