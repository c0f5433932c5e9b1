from django.core.management.base import CommandError
from django.db import transaction

from core.management.arguments import Argument
from core.management.base import Outcome, ServiceCommand
from partners.management import PARTNER, switch
from partners.models import Partner

DEFAULT = "default"


class Command(ServiceCommand):
    help = "Changes a partner's rate limit, or disables or enables it, from its next request on."
    arguments = (
        PARTNER,
        Argument("--rate-limit", metavar="RATE", help=f"such as 600/minute, or {DEFAULT} for the service's"),
        switch(disable="refuse its requests", enable="accept its requests"),
    )

    def perform(self, *, partner: Partner, rate_limit: str | None, enabled: bool | None) -> Outcome:
        if rate_limit is None and enabled is None:
            raise CommandError("Nothing to change: give --rate-limit, --disable or --enable.")
        if rate_limit == "":  # probably a shell's unset variable
            raise CommandError(f"--rate-limit is empty: give a rate such as 600/minute, or {DEFAULT}.")
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
            f"Partner {partner.slug} is {state}. Rate limit: {rate}{'' if partner.rate_limit else ' (default)'}.",
        )
