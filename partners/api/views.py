"""GET /v1/ping."""

from datetime import UTC, datetime

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema

from partners.api.base import PartnerAPIView
from partners.api.json import rfc_3339
from partners.api.request import PartnerRequest
from partners.api.schema import error_responses, success
from partners.api.serializers import PingSerializer


class Ping(PartnerAPIView):
    """GET /v1/ping: contract, section 9."""

    @extend_schema(
        operation_id="ping",
        tags=["Ping"],
        summary="Check the signature",
        description="Changes nothing. Success means that key, clock and signature are right.",
        responses={
            200: success(
                PingSerializer,
                "The request is signed correctly.",
                {"partner": "acme", "serverTime": "2026-01-15T10:30:00.000000Z"},
            ),
            **error_responses(),
        },
    )
    def get(self, request: PartnerRequest) -> HttpResponse:
        """The API key's partner, and the service's clock."""
        return self.read({"partner": request.user.partner_slug, "serverTime": rfc_3339(datetime.now(UTC))})
