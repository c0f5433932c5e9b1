"""Webhooks as the commands show them (docs/operations.md)."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from partners.management.base import optional_rfc_3339
from partners.models import EventType, WebhookEndpoint

SHOWN_ONCE = "The secret is shown this once and cannot be read back: hand it over safely now."


def add_types(parser: ArgumentParser, *, default: str) -> None:
    """Add --type, which may be repeated, and takes several values. default: what its absence means."""
    parser.add_argument(
        "--type",
        action="extend",
        nargs="*",
        dest="types",
        metavar="TYPE",
        help=f"send only these types: {', '.join(EventType.values)}; without a value all of them (default: {default})",
    )


def add_webhook_id(parser: ArgumentParser) -> None:
    """Add WEBHOOK_ID."""
    parser.add_argument("webhook_id", metavar="WEBHOOK_ID", help="as list_webhooks shows it")


def webhook_data(endpoint: WebhookEndpoint) -> dict[str, Any]:
    """A webhook for `--json`."""
    return {
        "webhookId": str(endpoint.pk),
        "url": endpoint.url,
        "types": endpoint.types,
        "description": endpoint.description,
        "state": endpoint.state,
        "disabledReason": endpoint.disabled_reason or None,
        "lastSuccessAt": optional_rfc_3339(endpoint.last_success_at),
        "failingSince": optional_rfc_3339(endpoint.failing_since),
    }


def types_text(types: Sequence[str]) -> str:
    """The types of events for people."""
    return ", ".join(types) or "all"
