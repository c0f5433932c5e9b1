from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand, find_partner, optional_rfc_3339, table
from partners.services import keys_with_state


class Command(ServiceCommand):
    help = "Lists a partner's API keys by their visible prefix, newest first. Last use is accurate to five minutes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")

    def perform(self, *, slug: str, **_: Any) -> Outcome:
        keys = [
            {
                "prefix": key.prefix,
                "label": key.label,
                "state": state,
                "createdAt": optional_rfc_3339(key.created_at),
                "lastUsedAt": optional_rfc_3339(key.last_used_at),
                "expiresAt": optional_rfc_3339(key.expires_at),
                "revokedAt": optional_rfc_3339(key.revoked_at),
            }
            for key, state in keys_with_state(find_partner(slug))
        ]
        headings = ("PREFIX", "LABEL", "STATE", "CREATED", "LAST USED", "EXPIRES", "REVOKED")
        rows = [tuple(key.values()) for key in keys]
        return Outcome({"apiKeys": keys}, table(headings, rows) if rows else [f"Partner {slug} has no API keys."])
