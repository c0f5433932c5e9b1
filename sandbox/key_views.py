"""API keys that sandbox partners list, rotate and revoke by themselves: contract, section 11."""

from datetime import timedelta

from django.http import HttpResponse

from partners.api.errors import ConflictError, NotFoundError
from partners.api.idempotency import KeyUse
from partners.api.request import PartnerRequest
from partners.authentication import keys
from partners.authentication.signature_authentication import AuthenticationFailure, unauthorized
from partners.models import ApiKey, Partner, in_force
from sandbox.serializers import ApiKeySerializer, OverlapSerializer, RotatedKeySerializer
from sandbox.views import SandboxView

SIGNING_KEY = "This key signed the request: revoke it by another one, or rotate it without an overlap."


class ApiKeyCollection(SandboxView):
    """/v1/sandbox/api-keys."""

    def get(self, request: PartnerRequest) -> HttpResponse:
        found = ApiKey.objects.filter(in_force(), partner=request.user.partner_id)
        return self.read({"items": [ApiKeySerializer(key).data for key in found]})


class ApiKeyItem(SandboxView):
    """/v1/sandbox/api-keys/{apiKeyPrefix}."""

    http_method_names = ["delete"]  # noqa: RUF012 - Django's own declaration
    idempotency_key_use = KeyUse.IGNORED

    def delete(self, request: PartnerRequest, api_key_prefix: str) -> HttpResponse:
        caller = request.user
        with self.once() as claim:
            if claim.is_new:
                # One of two keys that revoke each other at once stays.
                Partner.objects.select_for_update(no_key=True).get(pk=caller.partner_id)
                found = {key.prefix: key for key in ApiKey.objects.filter(in_force(), partner=caller.partner_id)}
                if caller.key_prefix not in found:
                    raise unauthorized(request, AuthenticationFailure.NOT_IN_FORCE)
                if api_key_prefix not in found:
                    raise NotFoundError("API key not found.")
                if api_key_prefix == caller.key_prefix:
                    raise ConflictError(SIGNING_KEY)
                keys.revoke(found[api_key_prefix])
                claim.respond(200, {"apiKeyPrefix": api_key_prefix})
        return claim.response


class ApiKeyRotation(SandboxView):
    """/v1/sandbox/api-keys/rotate."""

    serializer_class = OverlapSerializer
    idempotency_key_use = KeyUse.REFUSED

    def post(self, request: PartnerRequest) -> HttpResponse:
        with self.once() as claim:
            if claim.is_new:
                overlap = timedelta(hours=self.validated()["overlap_hours"])
                old = ApiKey.objects.get(pk=request.user.key_id)
                try:
                    issued = keys.rotate(old, overlap=overlap)
                except keys.NotInForceError:
                    # A simultaneous request has ended it.
                    raise unauthorized(request, AuthenticationFailure.NOT_IN_FORCE) from None
                old.refresh_from_db(fields=["expires_at"])
                new = {"api_key": issued.api_key, "secret": issued.secret, "expires_at": old.expires_at}
                claim.respond(201, RotatedKeySerializer(new).data)
        return claim.response
