from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand
from partners.management.webhooks import add_webhook_id
from partners.webhooks import endpoints
from partners.webhooks.delivering import send_test


class Command(ServiceCommand):
    help = "Sends a webhook.test now, also to a disabled webhook. Exit status 1 if the response is no 2xx."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_webhook_id(parser)

    def perform(self, *, webhook_id: str, **_: Any) -> Outcome:
        endpoint = endpoints.find_endpoint(webhook_id)
        result = send_test(endpoint=endpoint)
        response = f"Error: {result.error}" if result.status is None else f"Status: {result.status}"
        return Outcome(
            {
                "webhookId": str(endpoint.pk),
                "status": result.status,
                "milliseconds": result.milliseconds,
                "error": result.error or None,
            },
            [f"{response}, after {result.milliseconds} ms."],
            status=0 if result.is_success else 1,
        )
