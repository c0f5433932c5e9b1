"""Webhooks, as commands take and show them (docs/operations.md)."""

from collections.abc import Sequence
from typing import Any

from core.management.arguments import Argument
from events.models import EventType, WebhookEndpoint
from events.webhooks.endpoints import find_endpoint

ENDPOINT = Argument("endpoint", metavar="WEBHOOK_ID", find=find_endpoint, help="as list_webhooks shows it")
DESCRIPTION = Argument("--description", metavar="TEXT", help="what it is for, up to 200 characters")
TYPES = Argument(
    "--type",
    action="extend",
    nargs="*",
    dest="types",
    metavar="TYPE",
    help=f"send only these types: {', '.join(EventType.values)}; without a value all of them",
)


def webhook_data(endpoint: WebhookEndpoint) -> dict[str, Any]:
    """A webhook for `--json`."""
    return {
        "webhookId": endpoint.pk,
        "url": endpoint.url,
        "types": endpoint.types,
        "description": endpoint.description,
        "state": endpoint.state,
        "disabledReason": endpoint.disabled_reason or None,
        "lastSuccessAt": endpoint.last_success_at,
        "failingSince": endpoint.failing_since,
    }


def types_text(types: Sequence[str]) -> str:
    """The types of events for people."""
    return ", ".join(types) or "all"
