from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from demo.seeding import seed, summary
from partners.management.base import Outcome, ServiceCommand, whole_number
from transactions.documents.publishing import StorageError


class Command(ServiceCommand):
    help = "Create a demo partner with a key, staff, users in every status, conversions, documents. Only if DEBUG=true."
    records_run = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        for name, number in (("users", 40), ("conversions", 600)):
            parser.add_argument(f"--{name}", type=whole_number(0, 10**9), default=number, help=f"in all ({number})")

    def perform(self, **options: Any) -> Outcome:
        if not settings.DEBUG:
            raise CommandError("seed_demo is for development: it needs DEBUG=true.")
        try:
            seeded = seed(users=options["users"], conversions=options["conversions"])
        except StorageError as error:
            raise CommandError(str(error)) from error
        return Outcome(seeded, summary(seeded))
