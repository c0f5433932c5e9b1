"""The list of a partner's feed, oldest first: contract, section 10.

A cursor names the position of the last event of the page before. Positions are the partner's own, and kept in tables: a
cursor reveals nothing about others, and outlives a dump.
"""

import re

from events.models import Event
from partners.api.lists import KeysetList

_CURSOR = re.compile("[0-7][0-9a-f]{15}")

EVENTS = KeysetList(
    table="events_event",
    item=Event.wire,
    # A partner that never had an event has no feed.
    owner="""SELECT %s::bigint AS partner_id, COALESCE(max(purged_position), 0) AS purged_position,
                    COALESCE(max(last_position), 0) AS last_position
               FROM events_eventfeed WHERE partner_id = %s""",
    of_owner="partner_id = owner.partner_id AND position > owner.purged_position",
    key={"position": "bigint"},
    is_oldest_first=True,
    # The event may be purged.
    has_start="owner.start_position <= owner.last_position",
    shows="owner.purged_position",
)


def cursor_of(position: int) -> str:
    """The cursor that names a position."""
    return f"{position:016x}"


def position_of(cursor: str) -> int | None:
    """The position that a cursor names; None if it is malformed."""
    return int(cursor, 16) if _CURSOR.fullmatch(cursor) else None
