from typing import Any

from partners.api.json import rfc_3339
from partners.management.base import Outcome, ServiceCommand, table
from partners.services import effective_rate_limit, partners_with_keys


class Command(ServiceCommand):
    help = "Lists the partners by slug, with the number of their API keys in force."

    def perform(self, **_: Any) -> Outcome:
        partners = [
            {
                "slug": partner.slug,
                "name": partner.name,
                "enabled": partner.enabled,
                "rateLimit": effective_rate_limit(partner),
                "keys": keys,
                "createdAt": rfc_3339(partner.created_at),
            }
            for partner, keys in partners_with_keys()
        ]
        headings = ("SLUG", "NAME", "ENABLED", "RATE LIMIT", "KEYS", "CREATED")
        rows = [tuple((row | {"enabled": "yes" if row["enabled"] else "no"}).values()) for row in partners]
        return Outcome({"partners": partners}, table(headings, rows) if rows else ["There are no partners."])
