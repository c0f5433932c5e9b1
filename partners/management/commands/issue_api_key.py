"""`manage.py issue_api_key`."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.utils import timezone

from partners.authentication import keys
from partners.management.base import Outcome, ServiceCommand, find_partner, whole_number
from partners.management.issued import issued_key

LONGEST_DAYS = 36_500


class Command(ServiceCommand):
    """Issues an API key with its secret."""

    help = "Issues an API key with its secret, which is shown this once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """SLUG [--label TEXT] [--expires-in-days N]."""
        super().add_arguments(parser)
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")
        parser.add_argument("--label", default="", help="what the key is for, such as production")
        parser.add_argument(
            "--expires-in-days", type=whole_number(1, LONGEST_DAYS), metavar="N", help="without it, it never expires"
        )

    def perform(self, *, slug: str, label: str, expires_in_days: int | None, **_: Any) -> Outcome:
        """Issues it. Raises ValidationError for a label that is too long."""
        expires_at = None if expires_in_days is None else timezone.now() + timedelta(days=expires_in_days)
        return issued_key(keys.issue(partner=find_partner(slug), label=label, expires_at=expires_at))
