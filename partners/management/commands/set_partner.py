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
        if rate_limit == "":  # probably a shell's unset variable
            raise CommandError(f"--rate-limit is empty: give a rate such as 600/minute, or {DEFAULT}.")
        given = {"rate_limit": "" if rate_limit == DEFAULT else rate_limit, "enabled": enabled}
        changed = {name: value for name, value in given.items() if value is not None}
        if not changed:
            raise CommandError("Nothing to change: give --rate-limit, --disable or --enable.")
        for name, value in changed.items():
            setattr(partner, name, value)
        partner.clean_fields()
        with transaction.atomic():
            partner.save(update_fields=changed)
        rate = partner.effective_rate_limit
        state = "enabled" if partner.enabled else "disabled: its requests are refused"
        return Outcome(
            {"slug": partner.slug, "name": partner.name, "enabled": partner.enabled, "rateLimit": rate},
            f"Partner {partner.slug} is {state}. Rate limit: {rate}{'' if partner.rate_limit else ' (default)'}.",
        )
