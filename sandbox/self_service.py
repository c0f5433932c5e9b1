"""Webhooks, API keys and past requests of sandbox partners: contract, section 11."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models.functions import Now
from django.http import HttpResponse

from core import json_rules
from core.formats import is_uuid
from core.request_context import request_context
from events.models import MAX_URL_LENGTH, EventType, WebhookEndpoint
from events.webhooks import addresses, deliveries, endpoints
from partners import request_log
from partners.api.errors import ConflictError, NotFoundError, UnavailableError, invalid_parameter
from partners.api.idempotency import NOT_A_UUID, KeyUse
from partners.api.lists import LimitPagination
from partners.api.request import PartnerRequest
from partners.api.serializers import ChoiceField, ItemsField, RuleField, StrictSerializer, TextField, WholeNumberField
from partners.authentication import keys
from partners.authentication.signature_authentication import AuthenticationFailure, unauthorized
from partners.models import ApiKey, Partner, SandboxRequest, in_force
from sandbox.views import NoFieldsSerializer, SandboxView, slow_slot

DEFAULT_HOURS, MAX_HOURS = 24, endpoints.MAX_OVERLAP // timedelta(hours=1)
SIGNING_KEY = "This key signed the request: revoke it by another one, or rotate it without an overlap."
REQUEST_NOT_FOUND = "None of the last requests has this id."
WEBHOOK_NOT_FOUND = "Webhook not found."
# Rotations without an overlap leave as many in force as before.
MAX_KEYS_A_DAY = 50
MAX_DESCRIPTION_LENGTH = 200
# Repetitions are allowed; this bounds the errors of a response.
MAX_TYPES = 100
# The look-up of a URL's host name, and the one attempt of a test, which for events has 15 s: the response is due within
# 5 s. How long a request that resolves names or sends waits for others that do.
LOOK_UP_SECONDS, TEST_SECONDS, WAIT_SECONDS = 2.0, 4.0, 0.5


class OverlapSerializer(StrictSerializer[Any]):
    """A rotation."""

    overlapHours = WholeNumberField(lowest=0, highest=MAX_HOURS, default=DEFAULT_HOURS, source="overlap_hours")


# API keys


class ApiKeyCollection(SandboxView):
    """/v1/sandbox/api-keys."""

    def get(self, request: PartnerRequest) -> HttpResponse:
        items = [
            {
                "apiKeyPrefix": key.prefix,
                "label": key.label,
                "createdAt": key.created_at,
                "lastUsedAt": key.last_used_at,
                "expiresAt": key.expires_at,
            }
            for key in ApiKey.objects.filter(in_force(), partner=request.user.partner_id)
        ]
        return self.read({"items": items})


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
                made = ApiKey.objects.filter(partner_id=old.partner_id, created_at__gt=Now() - timedelta(days=1))
                if made.count() >= MAX_KEYS_A_DAY:
                    raise ConflictError(f"A sandbox partner makes at most {MAX_KEYS_A_DAY} API keys a day.")
                try:
                    issued = keys.rotate(old, overlap=overlap)
                except keys.NotInForceError:
                    # A simultaneous request has ended it.
                    raise unauthorized(request, AuthenticationFailure.NOT_IN_FORCE) from None
                old.refresh_from_db(fields=["expires_at"])
                new = {"apiKey": issued.api_key, "secret": issued.secret, "expiresAt": old.expires_at}
                claim.respond(201, new)
        return claim.response


# Past requests, which reading them does not change


class SandboxRequestList(SandboxView):
    """/v1/sandbox/requests."""

    pagination_class = LimitPagination
    is_recorded = False

    def get(self, request: PartnerRequest) -> HttpResponse:
        self.paginator.require_valid()
        rows = request_log.last_requests(request.user.partner_id)[: self.paginator.limit]
        return self.read({"items": [_request_json(row) for row in rows]})


class SandboxRequestItem(SandboxView):
    """/v1/sandbox/requests/{requestId}."""

    is_recorded = False

    def get(self, request: PartnerRequest, request_id: str) -> HttpResponse:
        rows = request_log.last_requests(request.user.partner_id)
        row = rows.filter(request_id=request_id).first() if is_uuid(request_id) else None
        if row is None:
            raise NotFoundError(REQUEST_NOT_FOUND)
        return self.read(_request_json(row))


def _request_json(row: SandboxRequest) -> dict[str, object]:
    return {
        "requestId": row.request_id,
        "createdAt": row.created_at,
        "method": row.method,
        "path": row.path,
        "query": row.query,
        "status": row.status,
        "error": row.error,
        "fieldErrors": row.field_errors,
        "idempotencyKey": row.idempotency_key,
        "replayed": row.replayed,
        "milliseconds": row.milliseconds,
        "diagnosis": row.diagnosis,
    }


# Webhooks


def _url(value: Any) -> str:
    return addresses.checked(json_rules.text(value, shortest=1, longest=MAX_URL_LENGTH), LOOK_UP_SECONDS)


class WebhookSettingsSerializer(StrictSerializer[Any]):
    """A webhook to be added."""

    url = RuleField(_url)
    types = ItemsField(child=ChoiceField(EventType), min_length=0, max_length=MAX_TYPES, default=list)
    description = TextField(min_length=0, max_length=MAX_DESCRIPTION_LENGTH, default="")


class WebhookView(SandboxView):
    """A view of a partner's webhooks."""

    @property
    def partner(self) -> Partner:
        """The caller's partner, by its id."""
        caller = self.request.user
        return Partner(pk=caller.partner_id, slug=caller.partner_slug)

    def get_endpoint(self, webhook_id: str) -> WebhookEndpoint:
        """The partner's webhook. Raises BadRequestError, NotFoundError."""
        if not is_uuid(webhook_id):
            raise invalid_parameter("webhookId", NOT_A_UUID)
        endpoint = endpoints.endpoints_of(self.partner).filter(pk=UUID(webhook_id)).first()
        if endpoint is None:
            raise NotFoundError(WEBHOOK_NOT_FOUND)
        return endpoint


class WebhookCollection(WebhookView):
    """/v1/sandbox/webhooks."""

    serializer_class = WebhookSettingsSerializer
    idempotency_key_use = KeyUse.REFUSED

    def get(self, request: PartnerRequest) -> HttpResponse:
        return self.read({"items": [_webhook_json(one) for one in endpoints.endpoints_of(self.partner)]})

    def post(self, request: PartnerRequest) -> HttpResponse:
        # It resolves a name: not in the write's transaction.
        with slow_slot(request.user.partner_id, WAIT_SECONDS):
            webhook = self.validated()
        with self.once() as claim:
            if claim.is_new:
                endpoint, secret = endpoints.create_endpoint(partner=self.partner, **webhook)
                claim.respond(201, _webhook_json(endpoint) | {"secret": secret})
        return claim.response


class WebhookItem(WebhookView):
    """/v1/sandbox/webhooks/{webhookId}."""

    http_method_names = ["delete"]  # noqa: RUF012 - Django's own declaration
    idempotency_key_use = KeyUse.IGNORED

    def delete(self, request: PartnerRequest, webhook_id: str) -> HttpResponse:
        with self.once() as claim:
            if claim.is_new:
                endpoint = self.get_endpoint(webhook_id)
                if not endpoints.remove(endpoint):
                    raise NotFoundError(WEBHOOK_NOT_FOUND)
                claim.respond(200, {"webhookId": endpoint.pk})
        return claim.response


class WebhookSecretRotation(WebhookView):
    """/v1/sandbox/webhooks/{webhookId}/rotate-secret."""

    serializer_class = OverlapSerializer
    idempotency_key_use = KeyUse.REFUSED

    def post(self, request: PartnerRequest, webhook_id: str) -> HttpResponse:
        with self.once() as claim:
            if claim.is_new:
                endpoint = self.get_endpoint(webhook_id)
                overlap = timedelta(hours=self.validated()["overlap_hours"])
                try:
                    secret = endpoints.rotate_secret(endpoint, overlap)
                except WebhookEndpoint.DoesNotExist:
                    raise NotFoundError(WEBHOOK_NOT_FOUND) from None
                claim.respond(200, {"webhookId": endpoint.pk, "secret": secret})
        return claim.response


class WebhookTest(WebhookView):
    """/v1/sandbox/webhooks/{webhookId}/test."""

    serializer_class = NoFieldsSerializer
    idempotency_key_use = KeyUse.IGNORED

    def post(self, request: PartnerRequest, webhook_id: str) -> HttpResponse:
        # It costs a start 0.3 s and a process 6 MB.
        from events.webhooks import delivering  # noqa: PLC0415

        # What is refused takes no slot.
        endpoint = self.get_endpoint(webhook_id)
        self.validated()
        with slow_slot(request.user.partner_id, WAIT_SECONDS):
            with self.once() as claim:
                claim.send(None)
                try:
                    leased = deliveries.lease_test(endpoint=endpoint, is_only=True)
                except deliveries.BusyError:
                    # The alerts do not count it.
                    request_context.is_simulated = True
                    raise UnavailableError from None
            # This is after the commit: the webhook's row has the test then.
            outcome = delivering.send_test(leased, seconds=TEST_SECONDS)
        milliseconds = None if outcome.status is None else outcome.milliseconds
        # One code: a name that is moved inside after it was accepted tells nothing of the names there.
        error = "dns" if outcome.error == "address" else outcome.error or None
        return self.read({"status": outcome.status, "milliseconds": milliseconds, "error": error})


def _webhook_json(one: WebhookEndpoint) -> dict[str, object]:
    return {"webhookId": one.pk, "url": one.url, "types": one.types, "description": one.description, "state": one.state}
