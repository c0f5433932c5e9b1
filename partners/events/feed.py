"""The query of a partner's feed, oldest first: contract, section 10.

The cost of a page does not grow with its depth. A cursor names the position of the last event of the page before.
Positions are the partner's own, and kept in tables: a cursor reveals nothing about others, and outlives a dump.
"""

import re
from functools import partial
from typing import Any, NamedTuple

from psycopg.rows import RowMaker

from core.database.query import Query
from partners.api.pagination import DEFAULT_LIMIT, MAX_LIMIT

# A page, and one that tells whether more follow.
MAX_ROWS = MAX_LIMIT + 1
# The same for a page of the default size.
DEFAULT_ROWS = DEFAULT_LIMIT + 1

_CURSOR = re.compile("[0-7][0-9a-f]{15}")
# As in transactions/keyset.py, the inner limit is a constant and SELECT hides the start, for a generic plan.
_STATEMENTS = {
    most: f"""
        SELECT feed.purged_position, feed.last_position, page.*
          FROM partners_eventfeed feed
          LEFT JOIN LATERAL (
               SELECT position, event_id, type, created_at, data FROM partners_event
                WHERE partner_id = feed.partner_id
                      AND position > COALESCE((SELECT %s::bigint), feed.purged_position)
                ORDER BY position LIMIT {most}) page ON true
         WHERE feed.partner_id = %s
         ORDER BY page.position LIMIT %s
    """
    for most in (DEFAULT_ROWS, MAX_ROWS)
}


class EventRow(NamedTuple):
    """An event in its feed, except `data` as PostgreSQL's text; or a placeholder, whose position is None."""

    purged_position: str
    last_position: str
    position: str
    event_id: str
    type: str
    created_at: str
    data: dict[str, Any]


# This is EventRow._make, without a Python call for each row.
_row: RowMaker[EventRow] = partial(tuple.__new__, EventRow)


def query(partner_id: int, start: int | None, count: int) -> Query[EventRow]:
    """At most `count` (up to MAX_ROWS) events of the partner after position `start`; None: from the oldest kept.

    It returns no row for a partner that never had an event, and a placeholder if none follows.
    """
    if count > MAX_ROWS:
        raise ValueError(f"At most {MAX_ROWS} rows can be read at once.")
    statement = _STATEMENTS[DEFAULT_ROWS if count <= DEFAULT_ROWS else MAX_ROWS]
    return Query(statement, (start, partner_id, count), _row, as_text=True)


def cursor_of(position: int) -> str:
    """The cursor that names a position."""
    return f"{position:016x}"


def position_of(cursor: str) -> int | None:
    """The position that a cursor names; None if it is malformed."""
    return int(cursor, 16) if _CURSOR.fullmatch(cursor) else None
