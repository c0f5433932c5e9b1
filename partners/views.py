"""The first signed call that everybody makes."""

from datetime import UTC, datetime

from partners.api.description import describes
from partners.api.json import rfc_3339
from partners.api.request import ServiceRequest
from partners.api.response import JsonResponse
from partners.api.views import PartnerAPIView
from partners.described import PING


class Ping(PartnerAPIView):
    """GET /v1/ping: contract, section 9."""

    @describes(PING)
    def get(self, request: ServiceRequest) -> JsonResponse:
        """Who the service takes the caller for, and its clock."""
        return self.read({"partner": self.caller.partner_slug, "serverTime": rfc_3339(datetime.now(UTC))})
