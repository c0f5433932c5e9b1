from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand, find_partner, key_data, table


class Command(ServiceCommand):
    help = "Lists a partner's API keys by their visible prefix, newest first. Last use is accurate to five minutes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")

    def perform(self, *, slug: str, **_: Any) -> Outcome:
        keys = [key_data(key) for key in find_partner(slug).api_keys.all()]
        headings = ("PREFIX", "LABEL", "STATE", "CREATED", "LAST USED", "EXPIRES", "REVOKED")
        rows = [tuple(key.values()) for key in keys]
        return Outcome({"apiKeys": keys}, table(headings, rows) if rows else [f"Partner {slug} has no API keys."])
