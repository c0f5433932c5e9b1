"""Ping, the look-up of a write, and the base of the views under /v1/sandbox: contract, sections 9, 11 and 12."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import NoReturn

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from core.formats.rfc_3339 import format_timestamp
from core.formats.uuids import is_uuid
from partners.api import idempotency
from partners.api.base import PartnerAPIView
from partners.api.errors import MethodNotAllowedError, NotFoundError, invalid_parameter
from partners.api.request import PartnerRequest
from partners.api.serializers import CompletedWriteSerializer
from partners.models import Mode


class Ping(PartnerAPIView):
    """GET /v1/ping: contract, section 9."""

    def get(self, request: PartnerRequest) -> HttpResponse:
        caller = request.user
        return self.read(
            {
                "partner": caller.partner_slug,
                "mode": caller.mode.value,
                "serverTime": format_timestamp(datetime.now(UTC)),
            }
        )


KEY_NOT_FOUND = "No write under this key has taken effect, and none is under way."


class IdempotencyKeyItem(PartnerAPIView):
    """GET /v1/idempotency-keys/{idempotencyKey}: contract, section 12."""

    def get(self, request: PartnerRequest, idempotency_key: str) -> HttpResponse:
        if not is_uuid(idempotency_key):
            raise invalid_parameter("idempotencyKey", idempotency.NOT_A_UUID)
        key = idempotency_key.lower()
        write = idempotency.find_write(request, key)
        if write is None:
            raise NotFoundError(KEY_NOT_FOUND)
        return self.read(CompletedWriteSerializer({"idempotency_key": key, **write._asdict()}).data)


class IsSandbox(BasePermission):
    """Whether the caller is a sandbox partner."""

    def has_permission(self, request: PartnerRequest, view: object) -> bool:  # type: ignore[override]
        """By the API key's partner."""
        return request.user.mode == Mode.SANDBOX


class SandboxView(PartnerAPIView):
    """A view that does not exist for live partners, whatever the method: they get 404."""

    permission_classes = (IsSandbox,)
    # A repeated POST would simulate once more.
    refuse_signature_reuse = True

    def get_handler(self) -> Callable[..., HttpResponseBase]:
        """The view's method, by name. A wrong one is refused later: only sandbox partners may learn of it."""
        with suppress(MethodNotAllowedError):
            return super().get_handler()
        return self.http_method_not_allowed

    def check_permissions(self, request: Request) -> None:
        """Raises NotFoundError for live partners, MethodNotAllowedError for others."""
        super().check_permissions(request)
        super().get_handler()

    def permission_denied(self, request: object, message: object = None, code: object = None) -> NoReturn:
        """Raises NotFoundError."""
        raise NotFoundError("Path not found.")
