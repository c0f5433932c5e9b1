from core.management.base import Outcome, ServiceCommand, listing
from events.management import types_text, webhook_data
from events.webhooks import endpoints
from partners.management import PARTNER
from partners.models import Partner


class Command(ServiceCommand):
    help = "Lists a partner's webhooks, oldest first, and whether they work; never a secret."
    arguments = (PARTNER,)

    def perform(self, *, partner: Partner) -> Outcome:
        return listing("webhooks", [webhook_data(one) for one in endpoints.endpoints_of(partner)], types=types_text)
