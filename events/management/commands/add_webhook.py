from core.management.arguments import Argument
from core.management.base import SHOWN_ONCE, Outcome, ServiceCommand
from events.management import DESCRIPTION, TYPES, types_text
from events.webhooks import endpoints
from partners.management import find_partner


class Command(ServiceCommand):
    help = "Adds a webhook: events are sent to its URL from now on. Its secret is shown this once."
    shows_secret = True
    arguments = (
        Argument("slug", metavar="SLUG", help="the partner's slug"),
        Argument("url", metavar="URL", help="such as https://hooks.example.com/events"),
        TYPES,
        DESCRIPTION,
    )

    def perform(self, *, slug: str, url: str, types: list[str] | None, description: str | None) -> Outcome:
        # It resolves a name: before the first statement, with which the transaction begins.
        checked = endpoints.checked_url(url)
        endpoint, secret = endpoints.create_endpoint(
            partner=find_partner(slug), url=checked, types=types or (), description=description or ""
        )
        return Outcome(
            {"webhookId": endpoint.pk, "url": endpoint.url, "types": endpoint.types, "secret": secret},
            [
                f"Webhook:  {endpoint.pk}",
                f"URL:      {endpoint.url}",
                f"Types:    {types_text(endpoint.types)}",
                f"Secret:   {secret}",
                SHOWN_ONCE,
            ],
        )
