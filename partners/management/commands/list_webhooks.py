from core.management.base import Outcome, ServiceCommand, listing
from partners.management.partners import PARTNER
from partners.management.webhooks import types_text, webhook_data
from partners.models import Partner
from partners.webhooks import endpoints


class Command(ServiceCommand):
    help = "Lists a partner's webhooks, oldest first, and whether they work; never a secret."
    arguments = (PARTNER,)

    def perform(self, *, partner: Partner) -> Outcome:
        return listing("webhooks", [webhook_data(one) for one in endpoints.endpoints_of(partner)], types=types_text)
