"""`manage.py create_partner`."""

from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand
from partners.models import Partner


class Command(ServiceCommand):
    """Creates a partner."""

    help = "Creates a partner."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """SLUG --name NAME [--rate-limit 600/minute]."""
        super().add_arguments(parser)
        parser.add_argument("slug", metavar="SLUG", help="lower-case letters, digits and hyphens")
        parser.add_argument("--name", required=True, help="what staff call it")
        parser.add_argument("--rate-limit", default="", help="such as 600/minute; the service's default without it")

    def perform(self, *, slug: str, name: str, rate_limit: str, **_: Any) -> Outcome:
        """Creates it. Raises ValidationError where a value is not valid or the slug is taken."""
        partner = Partner(slug=slug, name=name, rate_limit=rate_limit)
        partner.full_clean()
        partner.save(force_insert=True)
        return Outcome({"slug": slug, "name": name}, [f"Partner {slug} is created. Next: issue_api_key {slug}"])
