"""`manage.py list_api_keys`."""

from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand, find_partner, moment, table
from partners.services import keys_with_state


class Command(ServiceCommand):
    """Lists a partner's API keys."""

    help = "Lists a partner's API keys, by the visible prefix; neither a key nor a secret can be shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """SLUG."""
        super().add_arguments(parser)
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")

    def perform(self, *, slug: str, **_: Any) -> Outcome:
        """All of them, newest first. When a key was last used is true to five minutes."""
        keys = [
            {
                "prefix": key.prefix,
                "label": key.label,
                "state": state,
                "createdAt": moment(key.created_at),
                "lastUsedAt": moment(key.last_used_at),
                "expiresAt": moment(key.expires_at),
                "revokedAt": moment(key.revoked_at),
            }
            for key, state in keys_with_state(find_partner(slug))
        ]
        headings = ("PREFIX", "LABEL", "STATE", "CREATED", "LAST USED", "EXPIRES", "REVOKED")
        rows = [tuple(key.values()) for key in keys]
        return Outcome({"apiKeys": keys}, table(headings, rows) if rows else [f"Partner {slug} has no API keys."])
