from django.core.management.base import CommandError
from django.db import transaction

from core.management.arguments import Argument
from core.management.base import Outcome, ServiceCommand
from events.management import DESCRIPTION, ENDPOINT, TYPES, types_text, webhook_data
from events.models import WebhookEndpoint
from events.webhooks import endpoints
from partners.management import switch


class Command(ServiceCommand):
    help = "Changes a webhook, or disables or enables it. Events of the time while it was disabled are not sent."
    arguments = (
        ENDPOINT,
        Argument("--url", metavar="URL", help="such as https://hooks.example.com/events"),
        TYPES,
        DESCRIPTION,
        switch(disable="send it nothing", enable="send it events from now on"),
    )

    def perform(
        self,
        *,
        endpoint: WebhookEndpoint,
        url: str | None,
        types: list[str] | None,
        description: str | None,
        enabled: bool | None,
    ) -> Outcome:
        if all(value is None for value in (url, types, description, enabled)):
            raise CommandError("Nothing to change: give --url, --type, --description, --disable or --enable.")
        with transaction.atomic():
            endpoint = endpoints.change_endpoint(endpoint, url=url, types=types, description=description)
            if enabled is not None:
                endpoint = endpoints.enable(endpoint) if enabled else endpoints.disable(endpoint)
        state = endpoint.state + (f" ({endpoint.disabled_reason})" if endpoint.disabled_reason else "")
        return Outcome(
            webhook_data(endpoint),
            f"Webhook {endpoint.pk} is {state}. URL: {endpoint.url}. Types: {types_text(endpoint.types)}.",
        )
