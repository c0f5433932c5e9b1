from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from partners.management.base import Outcome, ServiceCommand, whole_number
from transactions.demo.seeding import Seeded, seed
from transactions.documents.publishing import StorageError

MOST = 999_999_999


class Command(ServiceCommand):
    help = "Create a demo partner with a key, staff, users in every status, conversions, documents. Only if DEBUG=true."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--users", type=whole_number(0, MOST), default=40, help="users in all (40)")
        parser.add_argument("--conversions", type=whole_number(0, MOST), default=600, help="conversions in all (600)")

    def perform(self, **options: Any) -> Outcome:
        if not settings.DEBUG:
            raise CommandError("seed_demo is for development: it needs DEBUG=true.")
        try:
            seeded = seed(users=options["users"], conversions=options["conversions"])
        except StorageError as error:
            raise CommandError(str(error)) from error
        data = {
            "partner": seeded.partner.slug,
            "apiKey": seeded.key.api_key,
            "secret": seeded.key.secret,
            "sandbox": {
                "partner": seeded.sandbox_key.record.partner.slug,
                "apiKey": seeded.sandbox_key.api_key,
                "secret": seeded.sandbox_key.secret,
            },
            "staff": seeded.staff,
            "users": seeded.users,
            "conversions": seeded.conversions,
            "documents": seeded.documents,
        }
        return Outcome(data, summary(seeded))


def summary(seeded: Seeded) -> list[str]:
    """The data with the credentials, which are shown only now."""
    counts = f"{seeded.users} users, {seeded.conversions} conversions, {seeded.documents} documents"
    return [
        f"Partner   {seeded.partner.slug}: {counts}",
        f"API key   {seeded.key.api_key}",
        f"Secret    {seeded.key.secret}",
        f"Sandbox   {seeded.sandbox_key.record.partner.slug}",
        f"API key   {seeded.sandbox_key.api_key}",
        f"Secret    {seeded.sandbox_key.secret}",
        *(f"Staff     {account['username']:22} {account['password']}" for account in seeded.staff),
    ]
