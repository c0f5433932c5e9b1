"""Webhooks, as commands take and show them (docs/operations.md)."""

from core.management.arguments import Argument
from events.models import EventType
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
# A webhook for `--json`, and the names of its values.
WEBHOOK = {
    "webhookId": "pk",
    "url": "url",
    "types": "types",
    "description": "description",
    "state": "state",
    "disabledReason": "reason",
    "lastSuccessAt": "last_success_at",
    "failingSince": "failing_since",
}
