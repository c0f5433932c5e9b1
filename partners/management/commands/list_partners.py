from django.db.models import Count

from core.management.base import ServiceCommand
from partners.models import Partner, in_force


class Command(ServiceCommand):
    help = "Lists the partners by slug, with the number of their API keys in force."
    rule = staticmethod(
        lambda: Partner.objects.annotate(keys=Count("api_keys", filter=in_force("api_keys__"))).order_by("slug")
    )
    lists = "partners"
    data = {"slug": "slug", "name": "name", "mode": "mode", "enabled": "enabled"} | {
        "rateLimit": "effective_rate_limit",
        "keys": "keys",
        "createdAt": "created_at",
    }
