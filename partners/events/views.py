"""GET /v1/events: contract, section 10."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse

from core.database.query import Query
from partners.api.base import PartnerAPIView
from partners.api.errors import invalid_parameter
from partners.api.pagination import NOT_A_CURSOR, KeysetPagination
from partners.api.request import PartnerRequest
from partners.api.response import JsonRenderer, JsonResponse
from partners.events import feed
from partners.events.feed import EventRow
from partners.events.serializers import EventSerializer

CURSOR_TOO_OLD = "Older than the events kept: read the users again, then the feed without a cursor."


class FeedPagination(KeysetPagination[int]):
    """Takes a page of the feed."""

    has_more: bool

    def parse(self, cursor: str) -> int | None:
        """The position that a cursor names; None if it is malformed."""
        return feed.position_of(cursor)

    def paginate_rows(self, rows: list[EventRow]) -> list[EventRow]:
        """The page of the rows of `feed.query`. Raises BadRequestError if the cursor is not of this feed."""
        purged, last = (int(rows[0].purged_position), int(rows[0].last_position)) if rows else (0, 0)
        start = purged if self.start is None else self.start
        if start > last:
            raise invalid_parameter("cursor", NOT_A_CURSOR)
        if start < purged:
            raise invalid_parameter("cursor", CURSOR_TOO_OLD)
        events = [row for row in rows if row.position is not None]
        page = events[: self.limit]
        self.has_more = len(events) > self.limit
        self.next_cursor = feed.cursor_of(int(page[-1].position) if page else start)
        return page

    def get_paginated_response(self, data: Sequence[Any]) -> HttpResponse:  # type: ignore[override]
        """The response with a page."""
        body = {"nextCursor": self.next_cursor, "hasMore": self.has_more, "items": data}
        return JsonResponse(200, JsonRenderer().render(body))


class EventList(PartnerAPIView):
    """/v1/events."""

    pagination_class = FeedPagination
    serializer_class = EventSerializer

    paginator: FeedPagination

    def get_query(self, partner_id: int) -> Query[EventRow] | None:  # type: ignore[override]
        if self.paginator.errors:
            return None
        return feed.query(partner_id, self.paginator.start, self.paginator.count)

    def get(self, request: PartnerRequest) -> HttpResponse:
        self.paginator.require_valid()
        page = self.paginator.paginate_rows(self.get_rows())
        return self.paginator.get_paginated_response(self.serializer_class.items(page))
