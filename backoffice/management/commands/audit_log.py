import json
import re
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.management.base import CommandError

from backoffice.audit.entries import detail_lines, newest_first, newest_first_about
from core.audit import ACTIONS
from core.formats.rfc_3339 import format_timestamp, parse_timestamp
from core.models import AuditEntry
from partners.management.base import Outcome, ServiceCommand, whole_number

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Command(ServiceCommand):
    help = "Shows who did what, newest first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--since", metavar="T", help="only what was done since then: a date, or RFC 3339 (default: all)"
        )
        parser.add_argument("--until", metavar="T", help="only what was done before then; of a date, until its end")
        parser.add_argument("--limit", type=whole_number(1, 1_000_000), metavar="N", help="the newest N (default: all)")
        parser.add_argument("--actor", metavar="NAME", help="a staff username, an operator, or a partner's slug")
        parser.add_argument("--action", metavar="ACTION", help="only this, such as user.decided")
        parser.add_argument(
            "--object",
            metavar="TEXT",
            help="whom or what: a user's externalId or userId, a staff username, a slug, a key's prefix, an id",
        )

    def perform(
        self,
        *,
        since: str | None,
        until: str | None,
        actor: str | None,
        action: str | None,
        object: str | None,  # noqa: A002 - the option's name
        limit: int | None,
        **_: Any,
    ) -> Outcome:
        if action is not None and action not in ACTIONS:
            raise CommandError(f"--action must be one of {', '.join(sorted(ACTIONS))}.")
        given = {
            "at__gte": _time("--since", since),
            "at__lt": _time("--until", until, days=1),
            "actor": actor,
            "action": action,
        }
        entries = AuditEntry.objects.filter(**{name: value for name, value in given.items() if value is not None})
        found = newest_first(entries) if object is None else newest_first_about(entries, object)
        records = map(_record, islice(found, limit))
        return Outcome(_json(records), map(_line, records))


def _time(option: str, value: str | None, *, days: int = 0) -> datetime | None:
    """A time, or midnight of a date in the compliance time zone, so many days later. Raises CommandError."""
    if value is None:
        return None
    try:
        if _DATE.fullmatch(value):
            day = date.fromisoformat(value) + timedelta(days=days)
            return datetime.combine(day, time(), ZoneInfo(settings.COMPLIANCE_TIME_ZONE))
        return parse_timestamp(value)
    except (OverflowError, ValueError):
        raise CommandError(
            f"{option} must be a date or an RFC 3339 date-time, such as 2026-01-31 or 2026-01-31T12:00:00Z."
        ) from None


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
