from core.management.base import Outcome, ServiceCommand, listing
from partners.management import PARTNER
from partners.models import Partner


class Command(ServiceCommand):
    help = "Lists a partner's API keys by their visible prefix, newest first. Last use is accurate to five minutes."
    arguments = (PARTNER,)

    def perform(self, *, partner: Partner) -> Outcome:
        return listing(
            "apiKeys",
            [
                {
                    "prefix": key.prefix,
                    "label": key.label,
                    "state": key.state,
                    "createdAt": key.created_at,
                    "lastUsedAt": key.last_used_at,
                    "expiresAt": key.expires_at,
                    "revokedAt": key.revoked_at,
                }
                for key in partner.api_keys.all()
            ],
        )
