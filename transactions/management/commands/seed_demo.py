from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from partners.management.base import Outcome, ServiceCommand, whole_number
from transactions.demo.seeding import seed, summary
from transactions.documents.publishing import StorageError

MAX_ROWS = 999_999_999


class Command(ServiceCommand):
    help = "Create a demo partner with a key, staff, users in every status, conversions, documents. Only if DEBUG=true."

    records_run = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--users", type=whole_number(0, MAX_ROWS), default=40, help="users in all (40)")
        parser.add_argument(
            "--conversions", type=whole_number(0, MAX_ROWS), default=600, help="conversions in all (600)"
        )

    def perform(self, **options: Any) -> Outcome:
        if not settings.DEBUG:
            raise CommandError("seed_demo is for development: it needs DEBUG=true.")
        try:
            seeded = seed(users=options["users"], conversions=options["conversions"])
        except StorageError as error:
            raise CommandError(str(error)) from error
        return Outcome(seeded, summary(seeded))
