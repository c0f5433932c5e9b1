from core.management.base import ServiceCommand
from partners.management import PARTNER


class Command(ServiceCommand):
    help = "Lists a partner's API keys by their visible prefix, newest first. Last use is accurate to five minutes."
    arguments = (PARTNER,)
    rule = staticmethod(lambda partner: partner.api_keys.all())
    lists = "apiKeys"
    data = {"prefix": "prefix", "label": "label", "state": "state", "createdAt": "created_at"} | {
        "lastUsedAt": "last_used_at",
        "expiresAt": "expires_at",
        "revokedAt": "revoked_at",
    }
