from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from partners.management.base import Outcome, ServiceCommand, find_partner

DEFAULT = "default"


class Command(ServiceCommand):
    help = "Changes a partner's rate limit, or disables or enables it, from its next request on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")
        parser.add_argument("--rate-limit", metavar="RATE", help=f"such as 600/minute, or {DEFAULT} for the service's")
        switch = parser.add_mutually_exclusive_group()
        switch.add_argument("--disable", action="store_const", const=False, dest="enabled", help="refuse its requests")
        switch.add_argument("--enable", action="store_const", const=True, dest="enabled", help="accept its requests")

    def perform(self, *, slug: str, rate_limit: str | None, enabled: bool | None, **_: Any) -> Outcome:
        if rate_limit is None and enabled is None:
            raise CommandError("Nothing to change: give --rate-limit, --disable or --enable.")
        if rate_limit == "":  # probably a shell's unset variable
            raise CommandError(f"--rate-limit is empty: give a rate such as 600/minute, or {DEFAULT}.")
        partner = find_partner(slug)
        changed = []
        if rate_limit is not None:
            partner.rate_limit = "" if rate_limit == DEFAULT else rate_limit
            changed.append("rate_limit")
        if enabled is not None:
            partner.enabled = enabled
            changed.append("enabled")
        partner.clean_fields()
        with transaction.atomic():
            partner.save(update_fields=changed)
        rate = partner.effective_rate_limit
        state = "enabled" if partner.enabled else "disabled: its requests are refused"
        return Outcome(
            {"slug": partner.slug, "name": partner.name, "enabled": partner.enabled, "rateLimit": rate},
            [f"Partner {partner.slug} is {state}. Rate limit: {rate}{'' if partner.rate_limit else ' (default)'}."],
        )
