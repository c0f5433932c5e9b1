from datetime import timedelta

from core.management.base import SHOWN_ONCE, Outcome, ServiceCommand
from events.management import ENDPOINT
from events.models import WebhookEndpoint
from events.webhooks import endpoints
from partners.management import overlap_hours


class Command(ServiceCommand):
    help = "Gives a webhook a new secret, which is shown this once. The old one signs too until the overlap ends."
    shows_secret = True
    arguments = (ENDPOINT, overlap_hours(endpoints.MAX_OVERLAP, "how long both secrets sign"))

    def perform(self, *, endpoint: WebhookEndpoint, overlap_hours: int) -> Outcome:
        secret = endpoints.rotate_secret(endpoint, timedelta(hours=overlap_hours))
        ends = f"signs for {overlap_hours} more hours" if overlap_hours else "has ended"
        return Outcome(
            {"webhookId": endpoint.pk, "secret": secret},
            [f"Webhook:  {endpoint.pk}", f"Secret:   {secret}", f"The old secret {ends}.", SHOWN_ONCE],
        )
