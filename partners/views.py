"""The first signed call that everybody makes."""

from datetime import UTC, datetime

from django.http import HttpResponse

from partners.api.description import describes
from partners.api.json import rfc_3339
from partners.api.request import PartnerRequest
from partners.api.views import PartnerAPIView
from partners.described import PING


class Ping(PartnerAPIView):
    """GET /v1/ping: contract, section 9."""

    @describes(PING)
    def get(self, request: PartnerRequest) -> HttpResponse:
        """The partner that the API key belongs to, and the service's clock."""
        return self.read({"partner": request.user.partner_slug, "serverTime": rfc_3339(datetime.now(UTC))})
