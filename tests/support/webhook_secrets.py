"""The secrets of a webhook."""

from events.models import WebhookEndpoint
from events.webhooks import endpoints


def secrets_in_force(endpoint: WebhookEndpoint) -> list[str]:
    """The secrets that sign the endpoint's deliveries, newest first."""
    return endpoints.secrets_by_endpoint([endpoint.pk])[endpoint.pk]
