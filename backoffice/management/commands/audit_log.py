import json
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from backoffice.audit.entries import detail_lines, newest_first
from partners.management.base import Outcome, ServiceCommand
from partners.models import AuditEntry
from partners.rfc_3339 import format_timestamp, parse_timestamp


class Command(ServiceCommand):
    help = "Shows who did what, newest first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--since", metavar="T", help="only what was done since then, in RFC 3339 (default: all)")
        parser.add_argument("--actor", metavar="NAME", help="a staff username, an operator, or a partner's slug")

    def perform(self, *, since: str | None, actor: str | None, **_: Any) -> Outcome:
        entries = AuditEntry.objects.all()
        if since is not None:
            try:
                entries = entries.filter(at__gte=parse_timestamp(since))
            except ValueError:
                raise CommandError("--since must be an RFC 3339 date-time, such as 2026-01-31T12:00:00Z.") from None
        if actor is not None:
            entries = entries.filter(actor=actor)
        records = map(_record, newest_first(entries))
        return Outcome(_json(records), map(_line, records))


def _record(entry: AuditEntry) -> dict[str, str]:
    return {
        "at": format_timestamp(entry.at),
        "actor": entry.actor,
        "action": entry.action,
        "object": entry.object,
        "detail": "; ".join(detail_lines(entry)),
    }


def _json(records: Iterator[dict[str, str]]) -> Iterator[str]:
    """One JSON object, an entry a line: the log may be longer than the memory."""
    yield '{"entries": ['
    before = ""
    for record in records:
        yield f"{before}{json.dumps(record)}"
        before = ","
    yield "]}"


def _line(record: dict[str, str]) -> str:
    return "  ".join(record[name] or "-" for name in ("at", "actor", "action", "object", "detail"))
