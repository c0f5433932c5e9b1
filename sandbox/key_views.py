"""API keys that sandbox partners list, rotate and revoke by themselves: contract, section 11."""

from datetime import timedelta
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema

from partners.api.errors import ConflictError
from partners.api.idempotency import KeyUse
from partners.api.request import PartnerRequest
from partners.api.schema import error_responses, success
from partners.api.views import SandboxView
from partners.authentication import keys
from partners.authentication.signature_authentication import AuthenticationFailure, unauthorized
from partners.models import ApiKey, Partner, in_force
from sandbox import schema
from sandbox.serializers import (
    ApiKeyListSerializer,
    ApiKeySerializer,
    OverlapSerializer,
    RevokedKeySerializer,
    RotatedKeySerializer,
)

SIGNING_KEY = "This key signed the request: revoke it by another one, or rotate it without an overlap."


class ApiKeyCollection(SandboxView):
    """/v1/sandbox/api-keys."""

    @extend_schema(
        operation_id="listApiKeys",
        tags=["Sandbox keys"],
        summary="List your API keys",
        description="Those in force, the newest first, those that staff have issued included; without secrets. For"
        " sandbox partners only.",
        responses={
            200: success(ApiKeyListSerializer, "The keys.", {"items": [schema.KEY]}),
            **error_responses(schema.PATH_NOT_FOUND),
        },
    )
    def get(self, request: PartnerRequest) -> HttpResponse:
        found = ApiKey.objects.filter(in_force(), partner=request.user.partner_id)
        return self.read({"items": [ApiKeySerializer(key).data for key in found]})


class ApiKeyItem(SandboxView):
    """/v1/sandbox/api-keys/{apiKeyPrefix}."""

    http_method_names = ["delete"]  # noqa: RUF012 - Django's own declaration
    response_serializer_class = RevokedKeySerializer
    idempotency_key_use = KeyUse.IGNORED

    @extend_schema(
        operation_id="revokeApiKey",
        tags=["Sandbox keys"],
        summary="Revoke another of your API keys",
        description="It is refused from the next request on, for good. Once more: 404. The key that signs the request"
        " is not revoked by itself: 409. A body and an Idempotency-Key have no effect. For sandbox partners only.",
        parameters=[schema.KEY_PREFIX],
        responses={
            200: success(RevokedKeySerializer, "The key is revoked.", {"apiKeyPrefix": schema.PREFIX}),
            **error_responses(schema.REPLAYED_SIGNATURE, schema.key_not_found(), ConflictError(SIGNING_KEY)),
        },
    )
    def delete(self, request: PartnerRequest, api_key_prefix: str) -> HttpResponse:
        return self.write()

    def perform(self, api_key_prefix: str) -> dict[str, str]:
        """Revoke the key. Raises NotFoundError, ConflictError, SignatureRefusedError."""
        caller = self.request.user
        # One of two keys that revoke each other at once stays.
        Partner.objects.select_for_update(no_key=True).get(pk=caller.partner_id)
        found = {key.prefix: key for key in ApiKey.objects.filter(in_force(), partner=caller.partner_id)}
        if caller.key_prefix not in found:
            raise unauthorized(self.request, AuthenticationFailure.NOT_IN_FORCE)
        if api_key_prefix not in found:
            raise schema.key_not_found()
        if api_key_prefix == caller.key_prefix:
            raise ConflictError(SIGNING_KEY)
        keys.revoke(found[api_key_prefix])
        return {"apiKeyPrefix": api_key_prefix}


class ApiKeyRotation(SandboxView):
    """/v1/sandbox/api-keys/rotate."""

    serializer_class = OverlapSerializer
    response_serializer_class = RotatedKeySerializer
    success_status = 201
    idempotency_key_use = KeyUse.REFUSED

    @extend_schema(
        operation_id="rotateApiKey",
        tags=["Sandbox keys"],
        summary="Rotate your API key",
        description="Issues a key and a secret in place of those that sign this request, which end with the overlap, or"
        " at their own end where that is sooner. An end that staff gave the old key is the new one's too. Both are"
        " shown this once, and the response is not stored: an Idempotency-Key is refused. If the response is lost,"
        " rotate again: so leave an overlap. For sandbox partners only.",
        examples=[schema.ROTATION],
        responses={
            201: success(RotatedKeySerializer, "The new key.", schema.ROTATED_KEY),
            **error_responses(
                *schema.ONCE,
                schema.PATH_NOT_FOUND,
                ConflictError("A partner has at most 10 API keys in force. Revoke one first."),
                bodies=True,
            ),
        },
    )
    def post(self, request: PartnerRequest) -> HttpResponse:
        return self.write()

    def perform(self) -> dict[str, Any]:
        """Rotate the key. Raises BadRequestError, RefusedError, SignatureRefusedError."""
        overlap = timedelta(hours=self.validated().validated_data["overlap_hours"])
        old = ApiKey.objects.get(pk=self.request.user.key_id)
        try:
            issued = keys.rotate(old, overlap=overlap)
        except keys.NotInForceError:
            # A simultaneous request has ended it.
            raise unauthorized(self.request, AuthenticationFailure.NOT_IN_FORCE) from None
        old.refresh_from_db(fields=["expires_at"])
        return {"apiKey": issued.api_key, "secret": issued.secret, "expiresAt": old.expires_at}
