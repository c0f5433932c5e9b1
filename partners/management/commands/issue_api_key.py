from datetime import timedelta

from django.utils import timezone

from core.management.arguments import Argument, number
from core.management.base import Outcome, ServiceCommand
from partners.authentication import keys
from partners.management import PARTNER, issued_key
from partners.models import Partner


class Command(ServiceCommand):
    help = "Issues an API key and its secret, which are shown this once."
    shows_secret = True
    arguments = (
        PARTNER,
        Argument("--label", default="", metavar="TEXT", help="what the key is for, such as production"),
        number("--expires-in-days", 1, keys.MAX_DAYS, "default: never"),
    )

    def perform(self, *, partner: Partner, label: str, expires_in_days: int | None) -> Outcome:
        expires_at = None if expires_in_days is None else timezone.now() + timedelta(days=expires_in_days)
        return issued_key(keys.issue(partner=partner, label=label, expires_at=expires_at))
