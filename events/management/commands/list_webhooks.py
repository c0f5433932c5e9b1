from core.management.base import ServiceCommand
from events.management import WEBHOOK
from events.webhooks import endpoints
from partners.management import PARTNER


class Command(ServiceCommand):
    help = "Lists a partner's webhooks, oldest first, and whether they work; never a secret."
    arguments = (PARTNER,)
    rule = staticmethod(endpoints.endpoints_of)
    lists, data = "webhooks", WEBHOOK
