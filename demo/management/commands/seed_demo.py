from django.conf import settings
from django.core.management.base import CommandError

from core.management.arguments import number
from core.management.base import Outcome, ServiceCommand
from demo.seeding import seed, summary


class Command(ServiceCommand):
    help = "Create a demo partner with a key, staff, users in every status, conversions, documents. Only if DEBUG=true."
    records_run = True

    arguments = (
        number("--users", 0, 10**9, "in all", default=40),
        number("--conversions", 0, 10**9, "in all", default=600),
    )

    def perform(self, *, users: int, conversions: int) -> Outcome:
        if not settings.DEBUG:
            raise CommandError("seed_demo is for development: it needs DEBUG=true.")
        seeded = seed(users=users, conversions=conversions)
        return Outcome(seeded, summary(seeded))
