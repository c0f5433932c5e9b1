"""Ping, the look-up of a write, and the base of the views under /v1/sandbox: contract, sections 9, 11 and 12."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import NoReturn

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from partners.api import idempotency
from partners.api.base import PartnerAPIView
from partners.api.errors import BadRequestError, MethodNotAllowedError, NotFoundError, invalid_parameter
from partners.api.request import PartnerRequest
from partners.api.schema import IDEMPOTENCY_KEY, error_responses, success
from partners.api.serializers import CompletedWriteSerializer, PingSerializer
from partners.models import Mode
from partners.rfc_3339 import format_timestamp
from partners.uuids import is_uuid


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
                {"partner": "acme", "mode": "live", "serverTime": "2026-01-15T10:30:00.000000Z"},
            ),
            **error_responses(),
        },
    )
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
_KEY = "7f8d2c1a-3b4e-4f5a-8c6d-9e0f1a2b3c4d"


def bad_key() -> BadRequestError:
    """The error for a key in the path that is no UUID."""
    return invalid_parameter("idempotencyKey", idempotency.NOT_A_UUID)


class IdempotencyKeyItem(PartnerAPIView):
    """GET /v1/idempotency-keys/{idempotencyKey}: contract, section 12."""

    @extend_schema(
        operation_id="getIdempotencyKey",
        tags=["Idempotency keys"],
        summary="Learn whether a write has happened",
        description="For a write whose response was lost. A request that is still running under the key is waited for."
        " After 404, no write under the key has taken effect and none is under way: send it again under the same key."
        " Keys are kept for 24 hours.",
        parameters=[
            OpenApiParameter(
                "idempotency_key",
                type=IDEMPOTENCY_KEY,
                location=OpenApiParameter.PATH,
                description="The Idempotency-Key of the write.",
                examples=[OpenApiExample("idempotencyKey", value=_KEY)],
            )
        ],
        responses={
            200: success(
                CompletedWriteSerializer,
                "The write has taken effect.",
                {
                    "idempotencyKey": _KEY,
                    "method": "POST",
                    "path": "/v1/users",
                    "status": 201,
                    "completedAt": "2026-01-15T10:30:00.012345Z",
                    "expiresAt": "2026-01-16T10:30:00.000000Z",
                },
            ),
            **error_responses(bad_key(), NotFoundError(KEY_NOT_FOUND)),
        },
    )
    def get(self, request: PartnerRequest, idempotency_key: str) -> HttpResponse:
        if not is_uuid(idempotency_key):
            raise bad_key()
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
