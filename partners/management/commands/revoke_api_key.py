from argparse import ArgumentParser
from typing import Any

from partners.authentication import keys
from partners.management.base import Outcome, ServiceCommand, optional_rfc_3339


class Command(ServiceCommand):
    help = "Revokes an API key: it is refused from the next request on, for good."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("api_key", metavar="API_KEY_OR_PREFIX", help="the whole API key, or its visible prefix")

    def perform(self, *, api_key: str, **_: Any) -> Outcome:
        record = keys.find(api_key)
        verb = "was already revoked, at" if record.revoked_at else "is revoked, since"
        keys.revoke(record)
        revoked_at = optional_rfc_3339(record.revoked_at)
        return Outcome(
            {"prefix": record.prefix, "revokedAt": revoked_at},
            [f"API key {record.prefix} of {record.partner.slug} {verb} {revoked_at}."],
        )
