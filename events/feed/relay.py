"""The relay: makes events of the outbox's entries, at their positions in the partners' feeds (contract, section 10).

Order of insert is not order of commit: a reader of ids would skip an event that commits late. The relay sees only
committed entries, is alone at a partner's feed while it works, and gives each event the next position of the feed. So
positions become visible in their order, whatever commits when. They are kept in tables, not in a sequence: a restored
dump goes on.

Each feed is written by one call of a function of the database (events/sql/events_place.sql), which locks
the feed and ends by itself: a process that is frozen or killed stops no feed, and a feed that fails stops no other.
"""

import time
from typing import Any

import structlog
from django.db import DatabaseError

from core.database import errors, statements
from core.database.pipeline import Query
from events.models import EventType

log = structlog.get_logger("events.feed.relay")

# Events of a partner that are placed at once, unless a single transaction has more: 0.5 s on a busy machine. An import
# commits no more, so it hardly delays another partner, whose smaller batch comes first in each turn.
BATCH = 5000
# A single entry may be of a million rows.
STATEMENT_SECONDS = 300
# The pause after a feed has failed.
FAILED_PAUSE_SECONDS = 5.0

# Types that this version does not know are left to a newer one.
TYPES = EventType.values
# Each partner's first entries by id, with the number of their rows: a long queue makes no turn longer. What a
# transaction inserted in several statements is not divided, because it becomes one event for each user.
_PENDING_ENTRIES = """
    WITH queue AS (
        SELECT entry.*, sum(size) OVER (PARTITION BY partner_id ORDER BY entry.id) - size AS before
          FROM partners_partner partner CROSS JOIN LATERAL (
               SELECT id, partner_id, type, transaction_id, transaction_time, size, data IS NULL AS is_merged
                 FROM events_outboxentry WHERE partner_id = partner.id AND type = ANY(%s)
                ORDER BY id LIMIT %s) AS entry
    ), batch AS (
        SELECT * FROM queue WHERE before < %s
    ), whole AS (
        SELECT partner_id, id, size FROM batch
         UNION
        SELECT partner_id, entry.id, entry.size
          FROM (SELECT DISTINCT partner_id, type, transaction_id, transaction_time FROM batch WHERE is_merged) AS merged
          JOIN events_outboxentry entry USING (partner_id, type, transaction_id, transaction_time)
         WHERE entry.data IS NULL
    )
    SELECT partner_id, (SELECT slug FROM partners_partner WHERE id = partner_id), array_agg(id)
      FROM whole GROUP BY partner_id ORDER BY sum(size)
"""
_ASSIGN = "SELECT placed, failure FROM events_place(%s, %s)"


class Relay:
    """Places events in batches. Any number of processes may have some; one at a time works on a partner's feed."""

    def __init__(self) -> None:
        # When to try a failed feed again (monotonic seconds), by the partner's id.
        self._retry_at: dict[int, float] = {}

    def assign_positions(self) -> int:
        """Make events of a batch of each partner; return their number. Raises Django's errors of a lost database."""
        now = time.monotonic()
        batches = statements.fetch_within(STATEMENT_SECONDS, pending_entries())
        return sum(self._assign(*batch) for batch in batches if self._retry_at.get(batch[0], 0.0) <= now)

    def _assign(self, partner_id: int, slug: str, entries: list[int]) -> int:
        """Assign positions; return the number of events, 0 if the batch failed or another relay is at the feed."""
        assign: Query[tuple[int, str | None]] = Query(_ASSIGN, (partner_id, entries))
        try:
            [(count, failure)] = statements.fetch_within(STATEMENT_SECONDS, assign)
        except DatabaseError as error:
            if errors.may_be_committed(error):
                raise
            count, failure = 0, errors.sqlstate(error)
        if failure:
            self._retry_at[partner_id] = time.monotonic() + FAILED_PAUSE_SECONDS
            log.error("event feed stopped", partner=slug, failure=failure)
        return count


def pending_entries() -> Query[Any]:
    """The first batch of each partner that has entries, the smallest first: partner's id, slug, ids of the entries."""
    return Query(_PENDING_ENTRIES, (TYPES, BATCH, BATCH))
