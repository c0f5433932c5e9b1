"""GET /v1/events (contract, section 10). A cursor is a position in the partner's own feed, and so outlives a dump."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from django.http import HttpResponse

from core.database.pipeline import Query
from events.models import Event
from partners.api.base import PartnerAPIView
from partners.api.errors import invalid_parameter
from partners.api.lists import KeysetList, KeysetPagination, Page
from partners.api.request import PartnerRequest

CURSOR_TOO_OLD = "Older than the events kept: read the users again, then the feed without a cursor."
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


class FeedPagination(KeysetPagination):
    """Pages of the feed, whose cursors go on where nothing follows yet."""

    def parse(self, cursor: str) -> tuple[int] | None:
        """The position that a cursor names; None if it is malformed."""
        return (int(cursor, 16),) if _CURSOR.fullmatch(cursor) else None

    def cursor_of(self, position: Sequence[Any]) -> str:
        """The cursor that names a position."""
        return f"{position[0]:016x}"

    def items_of(self, page: Page) -> object:
        """The items, read to be written without white space: in PostgreSQL that costs 5 µs an event, here 0.8."""
        return orjson.loads(page.items)

    def next_of(self, page: Page) -> Mapping[str, object]:
        """A cursor in any case, and whether there is more now. Raises BadRequestError for a cursor that is too old."""
        purged = (page.owner,)
        start = self.start or purged
        if start < purged:
            raise invalid_parameter("cursor", CURSOR_TOO_OLD)
        last = start if page.last[0] is None else page.last
        return {"nextCursor": self.cursor_of(last), "hasMore": page.has_more}


class EventList(PartnerAPIView):
    """/v1/events."""

    pagination_class = FeedPagination

    paginator: FeedPagination

    def get_query(self, partner_id: int) -> Query[Page]:  # type: ignore[override]
        self.paginator.require_valid()
        return EVENTS.page((partner_id, partner_id), self.paginator.start, self.paginator.limit)

    def get(self, request: PartnerRequest) -> HttpResponse:
        [page] = self.get_rows()
        return self.paginator.get_paginated_response(page)
