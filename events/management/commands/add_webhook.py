from core.management.arguments import Argument
from core.management.base import SHOWN_ONCE, Outcome, ServiceCommand
from events.management import DESCRIPTION, TYPES
from events.webhooks import addresses, endpoints
from partners.management import find_partner


class Command(ServiceCommand):
    help = "Adds a webhook: events are sent to its URL from now on. Its secret is shown this once."
    shows_secret = True
    arguments = (
        Argument("slug", metavar="SLUG", help="the partner's slug"),
        # It resolves a name: before the first statement, with which the transaction begins.
        Argument("url", metavar="URL", find=addresses.checked, help="such as https://hooks.example.com/events"),
        TYPES,
        DESCRIPTION,
    )

    def perform(
        self, *, slug: str, url: addresses.CheckedUrl, types: list[str] | None, description: str | None
    ) -> Outcome:
        endpoint, secret = endpoints.create_endpoint(
            partner=find_partner(slug), url=url, types=types or (), description=description or ""
        )
        return Outcome(
            {"webhookId": endpoint.pk, "url": url, "types": endpoint.types, "secret": secret},
            [f"Webhook:  {endpoint.pk}", f"URL:      {url}", f"Secret:   {secret}", SHOWN_ONCE],
        )
