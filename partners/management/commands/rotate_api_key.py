from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from partners.authentication import keys
from partners.management.base import Outcome, ServiceCommand, issued_key, optional_rfc_3339, whole_number

MAX_HOURS = keys.MAX_OVERLAP // timedelta(hours=1)


class Command(ServiceCommand):
    help = "Issues an API key in place of another, which expires when the overlap ends."
    shows_secret = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("api_key", metavar="API_KEY_OR_PREFIX", help="the whole API key, or its visible prefix")
        parser.add_argument(
            "--overlap-hours",
            type=whole_number(0, MAX_HOURS),
            default=24,
            metavar="N",
            help="how long both keys are in force; 0: the old one expires at once (default: 24)",
        )

    def perform(self, *, api_key: str, overlap_hours: int, **_: Any) -> Outcome:
        old = keys.find(api_key)
        issued = keys.rotate(old, overlap=timedelta(hours=overlap_hours))
        old.refresh_from_db(fields=["expires_at"])
        return issued_key(issued, [f"Old key:  {old.prefix} expires at {optional_rfc_3339(old.expires_at)}"])
