from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand, find_partner
from partners.management.webhooks import SHOWN_ONCE, add_types, types_text
from partners.webhooks import endpoints


class Command(ServiceCommand):
    help = "Adds a webhook: events are sent to its URL from now on. Its secret is shown this once."
    shows_secret = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")
        parser.add_argument("url", metavar="URL", help="such as https://hooks.example.com/events")
        add_types(parser, default="all")
        parser.add_argument("--description", default="", help="what it is for, up to 200 characters")

    def perform(self, *, slug: str, url: str, types: list[str] | None, description: str, **_: Any) -> Outcome:
        # It resolves a name: before the first statement, with which the transaction begins.
        checked = endpoints.checked_url(url)
        endpoint, secret = endpoints.create_endpoint(
            partner=find_partner(slug), url=checked, types=types or (), description=description
        )
        return Outcome(
            {"webhookId": str(endpoint.pk), "url": endpoint.url, "types": endpoint.types, "secret": secret},
            [
                f"Webhook:  {endpoint.pk}",
                f"URL:      {endpoint.url}",
                f"Types:    {types_text(endpoint.types)}",
                f"Secret:   {secret}",
                SHOWN_ONCE,
            ],
        )
