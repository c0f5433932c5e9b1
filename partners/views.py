"""Ping, and the look-up of a write: contract, sections 9 and 12."""

from datetime import UTC, datetime

from django.http import HttpResponse

from core.formats import is_uuid
from partners.api import idempotency
from partners.api.base import PartnerAPIView
from partners.api.errors import NotFoundError, invalid_parameter
from partners.api.request import PartnerRequest


class Ping(PartnerAPIView):
    """GET /v1/ping: contract, section 9."""

    def get(self, request: PartnerRequest) -> HttpResponse:
        caller = request.user
        return self.read(
            {
                "partner": caller.partner_slug,
                "mode": caller.mode.value,
                "serverTime": datetime.now(UTC),
            }
        )


KEY_NOT_FOUND = "No write under this key has taken effect, and none is under way."


class IdempotencyKeyItem(PartnerAPIView):
    """GET /v1/idempotency-keys/{idempotencyKey}: contract, section 12."""

    def get(self, request: PartnerRequest, idempotency_key: str) -> HttpResponse:
        if not is_uuid(idempotency_key):
            raise invalid_parameter("idempotencyKey", idempotency.NOT_A_UUID)
        key = idempotency_key.lower()
        write = idempotency.find_write(request.user.partner_id, key)
        if write is None:
            raise NotFoundError(KEY_NOT_FOUND)
        return self.read(
            {
                "idempotencyKey": key,
                "method": write.method,
                "path": write.path,
                "status": write.status,
                "completedAt": write.completed_at,
                "expiresAt": write.expires_at,
            }
        )
