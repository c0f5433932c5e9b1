from django.db.models import Count

from core.management.base import Outcome, ServiceCommand, listing
from partners.models import Partner, in_force


class Command(ServiceCommand):
    help = "Lists the partners by slug, with the number of their API keys in force."

    def perform(self) -> Outcome:
        keys_in_force = Count("api_keys", filter=in_force("api_keys__"))
        return listing(
            "partners",
            [
                {
                    "slug": partner.slug,
                    "name": partner.name,
                    "mode": partner.mode,
                    "enabled": partner.enabled,
                    "rateLimit": partner.effective_rate_limit,
                    "keys": partner.keys_in_force,
                    "createdAt": partner.created_at,
                }
                for partner in Partner.objects.annotate(keys_in_force=keys_in_force).order_by("slug")
            ],
        )
