from django.db import transaction

from core.management.arguments import Argument
from core.management.base import Outcome, ServiceCommand
from partners.models import Mode, Partner


class Command(ServiceCommand):
    help = "Creates a partner."
    arguments = (
        Argument("slug", metavar="SLUG", help="lower-case letters, digits and hyphens"),
        Argument("--name", required=True, metavar="NAME", help="the partner's name, for staff"),
        Argument("--rate-limit", default="", metavar="RATE", help="such as 600/minute (default: the service's)"),
        Argument("--sandbox", action="store_true", help="for tests, with users that are not real; for good"),
    )

    def perform(self, *, slug: str, name: str, rate_limit: str, sandbox: bool) -> Outcome:
        mode = Mode.SANDBOX if sandbox else Mode.LIVE
        partner = Partner(slug=slug, name=name, rate_limit=rate_limit, mode=mode)
        partner.full_clean()
        with transaction.atomic():
            partner.save(force_insert=True)
        return Outcome(
            {"slug": slug, "name": name, "mode": mode.value},
            f"The {mode.value} partner {slug} is created. Next: issue_api_key {slug}",
        )
