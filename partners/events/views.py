"""GET /v1/events: contract, section 10."""

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema

from partners.api.base import PartnerAPIView
from partners.api.request import PartnerRequest
from partners.api.schema import error_responses, success
from partners.db.statements import Query
from partners.events import feed, schema
from partners.events.feed import EventRow
from partners.events.pagination import FeedPagination
from partners.events.serializers import EventPageSerializer, EventSerializer


class EventList(PartnerAPIView):
    """/v1/events."""

    pagination_class = FeedPagination
    serializer_class = EventSerializer

    paginator: FeedPagination

    def get_query(self, partner_id: int) -> Query[EventRow] | None:  # type: ignore[override]
        if self.paginator.errors:
            return None
        return feed.query(partner_id, self.paginator.start, self.paginator.count)

    @extend_schema(
        operation_id="listEvents",
        tags=["Events"],
        summary="Read your events",
        description="Oldest first, in an order that never changes: every event appears exactly once. When you have"
        " handled a page, keep nextCursor and continue from it: at once while hasMore is true, otherwise every few"
        " seconds. Events are kept for 30 days. New types may appear at any time: ignore what you do not know.",
        parameters=schema.PARAMETERS,
        responses={
            200: success(EventPageSerializer, "A page of events.", schema.PAGE),
            **error_responses(*schema.ERRORS),
        },
    )
    def get(self, request: PartnerRequest) -> HttpResponse:
        self.paginator.require_valid()
        page = self.paginator.paginate_rows(self.get_rows())
        return self.paginator.get_paginated_response(self.serializer_class.items(page))
