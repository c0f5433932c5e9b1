from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand
from partners.management.webhooks import add_webhook_id
from partners.webhooks import endpoints


class Command(ServiceCommand):
    help = "Removes a webhook for good: nothing is sent to it any more."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_webhook_id(parser)

    def perform(self, *, webhook_id: str, **_: Any) -> Outcome:
        endpoint = endpoints.find_endpoint(webhook_id)
        endpoints.remove(endpoint)
        return Outcome(
            {"webhookId": str(endpoint.pk)}, [f"Webhook {endpoint.pk} of {endpoint.partner.slug} is removed."]
        )
