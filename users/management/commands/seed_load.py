"""`manage.py seed_load`."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import IntegrityError

from partners.management.base import Outcome, ServiceCommand, whole_number
from users.load.filling import fill


class Command(ServiceCommand):
    """Users by the million, with their decisions and history, to measure the back office with."""

    help = "Makes users by the million, with decisions of two years, to measure with. For DEBUG=true alone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """[--users N]."""
        super().add_arguments(parser)
        parser.add_argument(
            "--users", type=whole_number(1, 10_000_000), default=1_000_000, help="how many to make (1000000)"
        )

    def perform(self, **options: Any) -> Outcome:
        """Fills. Raises CommandError where DEBUG is false, or where that was done before."""
        if not settings.DEBUG:
            raise CommandError("seed_load is for development: it runs while DEBUG=true alone.")
        try:
            fill(users=options["users"])
        except IntegrityError as error:
            raise CommandError("These users are there already: use a new database.") from error
        return Outcome({"users": options["users"]}, [f"{options['users']} users, with their decisions and history."])
