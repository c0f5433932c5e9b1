"""GET /v1/events: contract, section 10."""

from django.http import HttpResponse

from partners.api.base import PartnerAPIView
from partners.api.request import PartnerRequest
from partners.db.statements import Query
from partners.events import feed
from partners.events.feed import EventRow
from partners.events.pagination import FeedPagination
from partners.events.serializers import EventSerializer


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
