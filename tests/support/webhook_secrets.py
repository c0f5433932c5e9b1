"""The secrets of a webhook."""

from partners.models import WebhookEndpoint
from partners.webhooks import endpoints


def secrets_in_force(endpoint: WebhookEndpoint) -> list[str]:
    """The secrets that sign the endpoint's deliveries, newest first."""
    return endpoints.secrets_by_endpoint([endpoint.pk])[endpoint.pk]
