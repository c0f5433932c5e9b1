"""`manage.py rotate_api_key`."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError

from partners.authentication import keys
from partners.management.base import Outcome, ServiceCommand, find_key, moment, whole_number
from partners.management.issued import issued_key

LONGEST_HOURS = 24 * 365


class Command(ServiceCommand):
    """Issues a new API key in the place of another."""

    help = "Issues a new API key in the place of another, which expires when the overlap ends."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """API_KEY_OR_PREFIX [--overlap-hours 24]."""
        super().add_arguments(parser)
        parser.add_argument("api_key", metavar="API_KEY_OR_PREFIX", help="the whole API key, or its visible prefix")
        parser.add_argument(
            "--overlap-hours",
            type=whole_number(0, LONGEST_HOURS),
            default=24,
            metavar="N",
            help="how long both keys are in force; 0: the old one expires at once (default: 24)",
        )

    def perform(self, *, api_key: str, overlap_hours: int, **_: Any) -> Outcome:
        """Rotates it. Raises CommandError where the old key is not in force any more."""
        old = find_key(api_key)
        try:
            issued = keys.rotate(old, overlap=timedelta(hours=overlap_hours))
        except ValueError as error:
            raise CommandError(str(error)) from error
        old.refresh_from_db(fields=["expires_at"])
        return issued_key(issued, [f"Old key:  {old.prefix} expires at {moment(old.expires_at)}"])
