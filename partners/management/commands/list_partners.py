from typing import Any

from django.db.models import Count

from core.formats.rfc_3339 import format_timestamp
from partners.management.base import Outcome, ServiceCommand, table
from partners.models import Partner, in_force


class Command(ServiceCommand):
    help = "Lists the partners by slug, with the number of their API keys in force."

    def perform(self, **_: Any) -> Outcome:
        keys_in_force = Count("api_keys", filter=in_force("api_keys__"))
        partners = [
            {
                "slug": partner.slug,
                "name": partner.name,
                "mode": partner.mode,
                "enabled": partner.enabled,
                "rateLimit": partner.effective_rate_limit,
                "keys": partner.keys_in_force,
                "createdAt": format_timestamp(partner.created_at),
            }
            for partner in Partner.objects.annotate(keys_in_force=keys_in_force).order_by("slug")
        ]
        headings = ("SLUG", "NAME", "MODE", "ENABLED", "RATE LIMIT", "KEYS", "CREATED")
        rows = [tuple((row | {"enabled": "yes" if row["enabled"] else "no"}).values()) for row in partners]
        return Outcome({"partners": partners}, table(headings, rows) if rows else ["There are no partners."])
