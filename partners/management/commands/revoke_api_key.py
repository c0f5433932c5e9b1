"""`manage.py revoke_api_key`."""

from argparse import ArgumentParser
from typing import Any

from partners.authentication import keys
from partners.management.base import Outcome, ServiceCommand, find_key, moment


class Command(ServiceCommand):
    """Revokes an API key."""

    help = "Revokes an API key: it is refused from the next request on, for good."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """API_KEY_OR_PREFIX."""
        super().add_arguments(parser)
        parser.add_argument("api_key", metavar="API_KEY_OR_PREFIX", help="the whole API key, or its visible prefix")

    def perform(self, *, api_key: str, **_: Any) -> Outcome:
        """Revokes it; one that is revoked already stays as it is."""
        record = find_key(api_key)
        said = "was already revoked, at" if record.revoked_at else "is revoked, since"
        keys.revoke(record)
        revoked_at = moment(record.revoked_at)
        return Outcome(
            {"prefix": record.prefix, "revokedAt": revoked_at},
            [f"API key {record.prefix} of {record.partner.slug} {said} {revoked_at}."],
        )
