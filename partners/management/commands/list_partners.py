"""`manage.py list_partners`."""

from typing import Any

from partners.management.base import Outcome, ServiceCommand, moment, table
from partners.services import effective_rate_limit, partners_with_keys


class Command(ServiceCommand):
    """Lists the partners."""

    help = "Lists the partners, each with the number of its API keys in force."

    def perform(self, **_: Any) -> Outcome:
        """All of them, by slug."""
        partners = [
            {
                "slug": partner.slug,
                "name": partner.name,
                "enabled": partner.enabled,
                "rateLimit": effective_rate_limit(partner),
                "keys": keys,
                "createdAt": moment(partner.created_at),
            }
            for partner, keys in partners_with_keys()
        ]
        headings = ("SLUG", "NAME", "ENABLED", "RATE LIMIT", "KEYS", "CREATED")
        rows = [{**row, "enabled": "yes" if row["enabled"] else "no"}.values() for row in partners]
        return Outcome(
            {"partners": partners}, table(headings, map(tuple, rows)) if rows else ["There are no partners."]
        )
