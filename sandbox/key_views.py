"""API keys that sandbox partners rotate by themselves: contract, section 11."""

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
from partners.authentication.failures import AuthenticationFailure
from partners.authentication.signature_authentication import unauthorized
from partners.models import ApiKey
from sandbox import schema
from sandbox.serializers import OverlapSerializer, RotatedKeySerializer


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
