"""The relay: makes events of the outbox's entries, at their positions in the partners' feeds (contract, section 10).

Order of insert is not order of commit: a reader of ids would skip an event that commits late. The relay sees only
committed entries, is alone while it works, and gives each event the next position of its partner's feed. So positions
become visible in their order, whatever commits when. They are kept in tables, not in a sequence: a restored dump goes
on.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import structlog
from django.db import DatabaseError, InterfaceError, connections, transaction

from partners.db import statements
from partners.db.statements import Query, response_timeout
from partners.events import outbox

log = structlog.get_logger("partners.events.relay")

# Events that are placed at once, unless a single entry has more.
BATCH = 5000
# A single entry may be of a million rows.
STATEMENT_SECONDS = 300
REPLICA = "replica"
# Lists are read from a replica that lags by at most this (transactions/replica.py): no need to wait for longer.
REPLICA_SECONDS = 6.0
# The pause after a failure of the replica.
REPLICA_PAUSE_SECONDS = 10.0

# Each partner's first entries by id, with as many from each partner as the batch allows: an import of one delays no
# other, and a long queue makes no turn longer. What a transaction inserted in several statements is not divided,
# because it becomes one event for each user. Types that this version does not know are left to a newer one.
_UNPLACED = """
    WITH queue AS (
        SELECT entry.*, sum(size) OVER (PARTITION BY partner_id ORDER BY entry.id) - size AS before
          FROM partners_partner partner CROSS JOIN LATERAL (
               SELECT id, partner_id, type, transaction_id, transaction_time, size, data IS NULL AS is_merged
                 FROM partners_outboxentry WHERE partner_id = partner.id AND type = ANY(%s)
                ORDER BY id LIMIT %s) AS entry
    ), batch AS (
        SELECT * FROM (SELECT *, sum(size) OVER (ORDER BY before, id) - size AS total FROM queue) AS ordered
         WHERE total < %s
    )
    SELECT id FROM batch
     UNION
    SELECT entry.id
      FROM (SELECT DISTINCT partner_id, type, transaction_id, transaction_time FROM batch WHERE is_merged) AS merged
      JOIN partners_outboxentry entry USING (partner_id, type, transaction_id, transaction_time)
     WHERE entry.data IS NULL
"""
# All if it is no replica any more.
_ON_REPLICA = """
    SELECT id FROM unnest(%s::bigint[]) AS given (id)
     WHERE NOT pg_is_in_recovery() OR EXISTS (SELECT FROM partners_outboxentry entry WHERE entry.id = given.id)
"""
_LOCK = "SELECT pg_try_advisory_xact_lock(7305001)"
_STATEMENT_TIMEOUT = "SELECT set_config('statement_timeout', %s, true)"
_PLACE = """
    WITH taken AS (
        DELETE FROM partners_outboxentry WHERE id = ANY(%s::bigint[]) RETURNING *
    ), events AS ({events}
    ), numbered AS (
        SELECT *, row_number() OVER (PARTITION BY partner_id ORDER BY id, user_id) AS number,
               count(*) OVER (PARTITION BY partner_id) AS count
          FROM events
    ), feeds AS (
        INSERT INTO partners_eventfeed AS feed (partner_id, last_position)
        SELECT DISTINCT partner_id, count FROM numbered ORDER BY partner_id
            ON CONFLICT (partner_id)
            DO UPDATE SET last_position = feed.last_position + excluded.last_position, updated_at = now()
     RETURNING partner_id, last_position
    )
    INSERT INTO partners_event (partner_id, user_id, type, created_at, data, position)
    SELECT partner_id, user_id, type, created_at, data, last_position - count + number
      FROM numbered JOIN feeds USING (partner_id) ORDER BY partner_id, number
"""


class Relay:
    """Places events in batches. Any number of processes may have one; one at a time works."""

    def __init__(self) -> None:
        # When an entry that the replica lacks was first seen (monotonic seconds), by its id.
        self._seen: dict[int, float] = {}
        self._replica_asked_from = 0.0

    def place(self) -> int:
        """Make events of about BATCH rows of the outbox; return their number. Raises Django's database errors.

        With a replica, entries wait until it has replayed what they report.
        """
        with _long_statements():
            ids = [id_ for (id_,) in statements.fetch(unplaced())]
        if REPLICA in connections:
            ids = self._replayed(ids)
        if not ids:
            return 0
        with _long_statements():
            (is_alone,) = statements.fetch_one(_LOCK, ()) or (False,)
            # A statement of its own, whose snapshot shows what the relay before has placed.
            return statements.run(_place(), (ids,)) if is_alone else 0

    def _replayed(self, ids: list[int]) -> list[int]:
        """The entries that the replica has, or has lacked for so long that lists do not use it.

        Neither has an entry without those committed before it.
        """
        now = time.monotonic()
        self._seen = {id_: self._seen.get(id_, now) for id_ in ids}
        overdue = {id_ for id_, seen_at in self._seen.items() if now - seen_at > REPLICA_SECONDS}
        replayed = overdue | self._on_replica([id_ for id_ in ids if id_ not in overdue])
        return [id_ for id_ in ids if id_ in replayed]

    def _on_replica(self, ids: list[int]) -> set[int]:
        if not ids or time.monotonic() < self._replica_asked_from:
            return set()
        try:
            found: list[tuple[int]] = statements.fetch(Query(_ON_REPLICA, (ids,)), REPLICA)
            return {id_ for (id_,) in found}
        except (DatabaseError, InterfaceError) as failure:
            log.warning("replica not reached", exc_info=failure)
            self._replica_asked_from = time.monotonic() + REPLICA_PAUSE_SECONDS
            connections[REPLICA].close()
            return set()


@contextmanager
def _long_statements() -> Iterator[None]:
    """A transaction in which a statement may take STATEMENT_SECONDS: a long queue is read at once."""
    with response_timeout(STATEMENT_SECONDS), transaction.atomic(durable=True):
        statements.queue(Query(_STATEMENT_TIMEOUT, (f"{STATEMENT_SECONDS}s",)))
        yield


def unplaced() -> Query[tuple[int]]:
    """The ids of about BATCH rows' entries, and of those of the same transactions."""
    return Query(_UNPLACED, ([*outbox.EVENTS], BATCH, BATCH))


@cache
def _place() -> str:
    return _PLACE.format(events=" UNION ALL ".join(outbox.EVENTS.values()))
