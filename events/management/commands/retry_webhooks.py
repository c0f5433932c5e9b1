from core.management.arguments import Argument, moment
from core.management.base import ServiceCommand
from events.management import ENDPOINT
from events.webhooks import deliveries


class Command(ServiceCommand):
    help = "Has a webhook's deliveries attempted now that failed, or that wait for their next attempt."
    arguments = (
        ENDPOINT,
        Argument("--since", metavar="T", find=moment, help="only those created since then, in RFC 3339 (default: all)"),
    )
    rule = staticmethod(deliveries.retry)
    data = {"deliveries": "result"}
    text = "Deliveries to attempt now: {deliveries}."
