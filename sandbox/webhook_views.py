"""Webhooks that sandbox partners set up by themselves: contract, section 11."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.http import HttpResponse

from core.formats import is_uuid
from core.request_context import request_context
from events.models import WebhookEndpoint
from events.webhooks import deliveries, endpoints
from partners.api.errors import NotFoundError, UnavailableError, invalid_parameter
from partners.api.idempotency import NOT_A_UUID, KeyUse
from partners.api.request import PartnerRequest
from partners.models import Partner
from sandbox import faults
from sandbox.serializers import NoFieldsSerializer, OverlapSerializer, WebhookSerializer, WebhookSettingsSerializer
from sandbox.views import SandboxView

WEBHOOK_NOT_FOUND = "Webhook not found."
# The one attempt of a test is so short that its response comes within 5 s; events have 15 s.
TEST_SECONDS = 4.0
# How long a request that resolves names or sends waits for others that do.
WAIT_SECONDS = 0.5


class WebhookCollection(SandboxView):
    """/v1/sandbox/webhooks."""

    serializer_class = WebhookSettingsSerializer
    idempotency_key_use = KeyUse.REFUSED

    def get(self, request: PartnerRequest) -> HttpResponse:
        found = endpoints.endpoints_of(_partner(request))
        return self.read({"items": [WebhookSerializer(one).data for one in found]})

    def post(self, request: PartnerRequest) -> HttpResponse:
        # It resolves a name: not in the write's transaction.
        with faults.slow_slot(request.user.partner_id, WAIT_SECONDS):
            webhook = self.validated()
        with self.once() as claim:
            if claim.is_new:
                endpoint, secret = endpoints.create_endpoint(partner=_partner(request), **webhook)
                claim.respond(201, {**WebhookSerializer(endpoint).data, "secret": secret})
        return claim.response


class WebhookView(SandboxView):
    """A view of one webhook."""

    def get_endpoint(self, webhook_id: str) -> WebhookEndpoint:
        """The partner's webhook. Raises BadRequestError, NotFoundError."""
        if not is_uuid(webhook_id):
            raise invalid_parameter("webhookId", NOT_A_UUID)
        endpoint = endpoints.endpoints_of(_partner(self.request)).filter(pk=UUID(webhook_id)).first()
        if endpoint is None:
            raise NotFoundError(WEBHOOK_NOT_FOUND)
        return endpoint


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
        with faults.slow_slot(request.user.partner_id, WAIT_SECONDS):
            with self.once() as claim:
                claim.send(None)
                try:
                    leased = deliveries.lease_test(endpoint=endpoint, is_only=True)
                except deliveries.BusyError:
                    # The alerts do not count it.
                    request_context.is_simulated = True
                    raise UnavailableError from None
            # This is after the commit: the webhook's row has the test then.
            outcome = delivering.finish_test(leased, seconds=TEST_SECONDS)
        milliseconds = None if outcome.status is None else outcome.milliseconds
        # One code: a name that is moved inside after it was accepted tells nothing of the names there.
        error = "dns" if outcome.error == "address" else outcome.error or None
        return self.read({"status": outcome.status, "milliseconds": milliseconds, "error": error})


def _partner(request: PartnerRequest) -> Partner:
    """The caller's partner, by its id."""
    caller: Any = request.user
    return Partner(pk=caller.partner_id, slug=caller.partner_slug)
