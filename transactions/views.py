"""A user's conversions: contract, sections 6 and 9."""

from partners.api.description import describes
from partners.api.request import ServiceRequest
from partners.api.response import JsonResponse
from transactions import queries
from transactions.described import LIST_TRANSACTIONS
from transactions.listing import UserList
from transactions.serializers import ConversionSerializer


class TransactionList(UserList):
    """/v1/users/{externalId}/transactions."""

    serializer = ConversionSerializer()
    rows = queries.page

    @describes(LIST_TRANSACTIONS)
    def get(self, request: ServiceRequest, external_id: str) -> JsonResponse:
        """A page of the user's conversions, newest first."""
        return self.page(external_id)
