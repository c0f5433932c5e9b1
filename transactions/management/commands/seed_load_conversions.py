"""`manage.py seed_load_conversions`."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import IntegrityError

from partners.management.base import Outcome, ServiceCommand, whole_number
from transactions.load import fill


class Command(ServiceCommand):
    """Conversions by the million, of the users that `seed_load` made, to measure the lists with."""

    help = "Makes conversions by the million, of seed_load's users, to measure with. For DEBUG=true alone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """[--conversions N]."""
        super().add_arguments(parser)
        parser.add_argument(
            "--conversions", type=whole_number(1, 1_000_000_000), default=1_000_000, help="how many to make (1000000)"
        )

    def perform(self, **options: Any) -> Outcome:
        """Fills. Raises CommandError where DEBUG is false, without seed_load's users, or where it was done before."""
        if not settings.DEBUG:
            raise CommandError("seed_load_conversions is for development: it runs while DEBUG=true alone.")
        try:
            fill(conversions=options["conversions"])
        except LookupError as error:
            raise CommandError(f"{error} Run seed_load first.") from error
        except IntegrityError as error:
            raise CommandError("These conversions are there already: use a new database.") from error
        return Outcome({"conversions": options["conversions"]}, [f"{options['conversions']} conversions."])
