"""`manage.py seed_demo`."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from partners.management.base import Outcome, ServiceCommand
from transactions.demo.seeding import Seeded, seed
from transactions.documents.publishing import StorageError


class Command(ServiceCommand):
    """A demo partner with a key, staff of every role, users in every status, conversions and documents."""

    help = (
        "Makes a demo partner with a key, staff, users in every status, conversions, documents. For DEBUG=true alone."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """[--users N] [--conversions N]."""
        super().add_arguments(parser)
        parser.add_argument("--users", type=int, default=40, help="how many there are to be (40)")
        parser.add_argument("--conversions", type=int, default=600, help="how many there are to be in all (600)")

    def perform(self, **options: Any) -> Outcome:
        """Seeds. Raises CommandError where DEBUG is false: known accounts have no place in production."""
        if not settings.DEBUG:
            raise CommandError("seed_demo is for development: it runs while DEBUG=true alone.")
        if options["users"] < 0 or options["conversions"] < 0:
            raise CommandError("--users and --conversions take whole numbers from 0.")
        try:
            seeded = seed(users=options["users"], conversions=options["conversions"])
        except StorageError as error:
            raise CommandError("The storage of documents cannot be used: see DOCUMENT_STORAGE_URL.") from error
        return Outcome(as_json(seeded), summary(seeded))


def as_json(seeded: Seeded) -> dict[str, Any]:
    """What --json prints."""
    return {
        "partner": seeded.partner.slug,
        "apiKey": seeded.key.api_key,
        "secret": seeded.key.secret,
        "staff": [
            {"role": account.role, "username": account.username, "password": account.password}
            for account in seeded.staff
        ],
        "users": seeded.users,
        "conversions": seeded.conversions,
        "documents": seeded.documents,
    }


def summary(seeded: Seeded) -> list[str]:
    """The same for people. Key, secret and passwords are shown this once."""
    counts = f"{seeded.users} users, {seeded.conversions} conversions, {seeded.documents} documents"
    return [
        f"Partner   {seeded.partner.slug}: {counts}",
        f"API key   {seeded.key.api_key}",
        f"Secret    {seeded.key.secret}",
        *(f"Staff     {account.username:22} {account.password}" for account in seeded.staff),
    ]
