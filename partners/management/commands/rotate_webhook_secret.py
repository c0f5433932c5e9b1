from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from partners.management.base import Outcome, ServiceCommand, whole_number
from partners.management.webhooks import SHOWN_ONCE, add_webhook_id
from partners.webhooks import endpoints

MAX_HOURS = endpoints.MAX_OVERLAP // timedelta(hours=1)


class Command(ServiceCommand):
    help = "Gives a webhook a new secret, which is shown this once. The old one signs too until the overlap ends."
    shows_secret = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_webhook_id(parser)
        parser.add_argument(
            "--overlap-hours",
            type=whole_number(0, MAX_HOURS),
            default=24,
            metavar="N",
            help="how long both secrets sign; 0: the old one ends at once (default: 24)",
        )

    def perform(self, *, webhook_id: str, overlap_hours: int, **_: Any) -> Outcome:
        endpoint = endpoints.find_endpoint(webhook_id)
        secret = endpoints.rotate_secret(endpoint, timedelta(hours=overlap_hours))
        ends = f"signs for {overlap_hours} more hours" if overlap_hours else "has ended"
        return Outcome(
            {"webhookId": str(endpoint.pk), "secret": secret},
            [f"Webhook:  {endpoint.pk}", f"Secret:   {secret}", f"The old secret {ends}.", SHOWN_ONCE],
        )
