from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand, find_partner, table
from partners.management.webhooks import types_text, webhook_data
from partners.webhooks import endpoints


class Command(ServiceCommand):
    help = "Lists a partner's webhooks, oldest first, and whether they work; never a secret."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")

    def perform(self, *, slug: str, **_: Any) -> Outcome:
        webhooks = [webhook_data(endpoint) for endpoint in endpoints.endpoints_of(find_partner(slug))]
        headings = ("WEBHOOK", "URL", "TYPES", "DESCRIPTION", "STATE", "REASON", "LAST SUCCESS", "FAILING SINCE")
        rows = [tuple((webhook | {"types": types_text(webhook["types"])}).values()) for webhook in webhooks]
        return Outcome({"webhooks": webhooks}, table(headings, rows) if rows else [f"Partner {slug} has no webhooks."])
