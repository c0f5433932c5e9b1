from django.db import transaction

from core.management.base import Outcome, ServiceCommand
from events.management import ENDPOINT
from events.models import WebhookEndpoint
from events.webhooks.deliveries import lease_test
from events.webhooks.delivering import send_test


class Command(ServiceCommand):
    help = "Sends a webhook.test now, also to a disabled webhook. Exit status 1 if the response is no 2xx."
    arguments = (ENDPOINT,)

    def perform(self, *, endpoint: WebhookEndpoint) -> Outcome:
        with transaction.atomic():
            leased = lease_test(endpoint=endpoint)
        result = send_test(leased)
        response = f"Error: {result.error}" if result.status is None else f"Status: {result.status}"
        return Outcome(
            {
                "webhookId": endpoint.pk,
                "status": result.status,
                "milliseconds": result.milliseconds,
                "error": result.error or None,
            },
            f"{response}, after {result.milliseconds} ms.",
            status=0 if result.is_success else 1,
        )
