from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from partners.management.base import Outcome, ServiceCommand
from partners.management.webhooks import add_types, add_webhook_id, types_text, webhook_data
from partners.webhooks import endpoints


class Command(ServiceCommand):
    help = "Changes a webhook, or disables or enables it. Events of the time while it was disabled are not sent."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_webhook_id(parser)
        parser.add_argument("--url", metavar="URL", help="such as https://hooks.example.com/events")
        add_types(parser, default="unchanged")
        parser.add_argument("--description", help="what it is for, up to 200 characters")
        switch = parser.add_mutually_exclusive_group()
        switch.add_argument("--disable", action="store_const", const=False, dest="enabled", help="send it nothing")
        switch.add_argument(
            "--enable", action="store_const", const=True, dest="enabled", help="send it events from now on"
        )

    def perform(
        self,
        *,
        webhook_id: str,
        url: str | None,
        types: list[str] | None,
        description: str | None,
        enabled: bool | None,
        **_: Any,
    ) -> Outcome:
        endpoint = endpoints.find_endpoint(webhook_id)
        if all(value is None for value in (url, types, description, enabled)):
            raise CommandError("Nothing to change: give --url, --type, --description, --disable or --enable.")
        with transaction.atomic():
            endpoint = endpoints.change_endpoint(endpoint, url=url, types=types, description=description)
            if enabled is not None:
                endpoint = endpoints.enable(endpoint) if enabled else endpoints.disable(endpoint)
        state = endpoint.state + (f" ({endpoint.disabled_reason})" if endpoint.disabled_reason else "")
        return Outcome(
            webhook_data(endpoint),
            [f"Webhook {endpoint.pk} is {state}. URL: {endpoint.url}. Types: {types_text(endpoint.types)}."],
        )
