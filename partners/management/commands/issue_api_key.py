from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.utils import timezone

from partners.authentication import keys
from partners.management.base import Outcome, ServiceCommand, find_partner, issued_key, whole_number


class Command(ServiceCommand):
    help = "Issues an API key and its secret, which are shown this once."
    shows_secret = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")
        parser.add_argument("--label", default="", help="what the key is for, such as production")
        parser.add_argument(
            "--expires-in-days", type=whole_number(1, keys.MAX_DAYS), metavar="N", help="default: never"
        )

    def perform(self, *, slug: str, label: str, expires_in_days: int | None, **_: Any) -> Outcome:
        expires_at = None if expires_in_days is None else timezone.now() + timedelta(days=expires_in_days)
        return issued_key(keys.issue(partner=find_partner(slug), label=label, expires_at=expires_at))
