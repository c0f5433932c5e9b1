from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from core.formats.rfc_3339 import parse_timestamp
from partners.management.base import Outcome, ServiceCommand
from partners.management.webhooks import add_webhook_id
from partners.webhooks import deliveries, endpoints


class Command(ServiceCommand):
    help = "Has a webhook's deliveries attempted now that failed, or that wait for their next attempt."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_webhook_id(parser)
        parser.add_argument("--since", metavar="T", help="only those created since then, in RFC 3339 (default: all)")

    def perform(self, *, webhook_id: str, since: str | None, **_: Any) -> Outcome:
        endpoint = endpoints.find_endpoint(webhook_id)
        try:
            earliest = None if since is None else parse_timestamp(since)
        except ValueError:
            raise CommandError("--since must be an RFC 3339 date-time, such as 2026-01-31T12:00:00Z.") from None
        if not endpoint.is_active:
            raise CommandError(f"Webhook {endpoint.pk} is disabled: enable it by `set_webhook {endpoint.pk} --enable`.")
        count = deliveries.retry(endpoint=endpoint, since=earliest)
        return Outcome({"deliveries": count}, [f"Deliveries to attempt now: {count}."])
