from core.management.base import ServiceCommand
from events.management import ENDPOINT
from events.webhooks import endpoints


class Command(ServiceCommand):
    help = "Removes a webhook for good: nothing is sent to it any more."
    arguments = (ENDPOINT,)
    rule = staticmethod(endpoints.remove)
    data = {"webhookId": "endpoint.pk"}
    text = "Webhook {webhookId} of {endpoint.partner.slug} is removed."
