from core.management.base import Outcome, ServiceCommand, plain
from partners.authentication import keys
from partners.management import API_KEY
from partners.models import ApiKey


class Command(ServiceCommand):
    help = "Revokes an API key: it is refused from the next request on, for good."
    arguments = (API_KEY,)

    def perform(self, *, api_key: ApiKey) -> Outcome:
        verb = "was already revoked, at" if api_key.revoked_at else "is revoked, since"
        keys.revoke(api_key)
        return Outcome(
            {"prefix": api_key.prefix, "revokedAt": api_key.revoked_at},
            f"API key {api_key.prefix} of {api_key.partner.slug} {verb} {plain(api_key.revoked_at)}.",
        )
