"""A user's conversions: contract, sections 6 and 9."""

from functools import partial

from django.http import HttpResponse
from rest_framework.request import Request

from partners.api.description import describes
from partners.api.errors import invalid_fields
from partners.api.views import PartnerAPIView
from transactions import queries
from transactions.described import LIST_TRANSACTIONS
from transactions.pagination import CursorPagination
from transactions.serializers import ConversionSerializer
from users.fields import external_id_problems
from users.profile import find_user


class TransactionList(PartnerAPIView):
    """/v1/users/{externalId}/transactions."""

    serializer = ConversionSerializer()

    @describes(LIST_TRANSACTIONS)
    def get(self, request: Request, external_id: str) -> HttpResponse:
        """A page of the user's conversions, newest first."""
        problems = external_id_problems(external_id)
        pagination = CursorPagination(self.received.parameters(), problems)
        if problems:
            raise invalid_fields(problems)
        user = find_user(partner_id=self.caller.partner_id, external_id=external_id)
        rows, next_cursor = pagination.page(partial(queries.page, user.id))
        return self.read(
            {
                "externalId": user.external_id,
                "userId": str(user.id),
                "nextCursor": next_cursor,
                "items": [self.serializer.to_representation(row) for row in rows],
            }
        )
