from core.management.arguments import Argument
from core.management.base import ServiceCommand
from events.management import DESCRIPTION, ENDPOINT, TYPES, WEBHOOK
from events.webhooks import addresses, endpoints
from partners.management import switch


class Command(ServiceCommand):
    help = "Changes a webhook, or disables or enables it. Events of the time while it was disabled are not sent."
    arguments = (
        ENDPOINT,
        Argument("--url", metavar="URL", find=addresses.checked, help="such as https://hooks.example.com/events"),
        TYPES,
        DESCRIPTION,
        switch(disable="send it nothing", enable="send it events from now on"),
    )
    rule = staticmethod(endpoints.change_endpoint)
    data = {name: f"result.{path}" for name, path in WEBHOOK.items()}
    text = "Webhook {webhookId} is {state}. URL: {url}."
