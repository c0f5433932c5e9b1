import json
import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from django.db.models import Q

from backoffice.audit import newest_first, of_external_id
from core.audit import ACTIONS
from core.formats import parse_timestamp
from core.management.arguments import Argument
from core.management.base import Outcome, ServiceCommand, plain
from core.models import AuditEntry
from users.profile.field_rules import midnight

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NAMES = ("at", "actor", "action", "object", "detail")


def _time(text: str, *, days: int = 0) -> datetime:
    """A time, or midnight of a date in the compliance time zone, so many days later. Raises ValueError."""
    try:
        if _DATE.fullmatch(text):
            return midnight(date.fromisoformat(text) + timedelta(days=days))
        return parse_timestamp(text)
    except (OverflowError, ValueError):
        raise ValueError(
            "must be a date or an RFC 3339 date-time, such as 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from None


class Command(ServiceCommand):
    help = "Shows who did what, newest first."
    arguments = (
        Argument("--since", metavar="T", find=_time, help="since then: a date, or RFC 3339 (default: all)"),
        Argument("--until", metavar="T", find=partial(_time, days=1), help="before then; of a date, until its end"),
        Argument("--actor", metavar="NAME", help="a staff username, an operator, or a partner's slug"),
        Argument("--action", metavar="ACTION", choices=sorted(ACTIONS), help="only this, such as user.decided"),
        Argument(
            "--object",
            metavar="TEXT",
            help="whom or what: a user's externalId or userId, a staff username, a slug, a key's prefix, an id",
        ),
    )

    def perform(self, *, since: Any, until: Any, object: Any, **given: Any) -> Outcome:  # noqa: A002 - the option's name
        given |= {"at__gte": since, "at__lt": until}
        entries = AuditEntry.objects.filter(**{name: value for name, value in given.items() if value is not None})
        lists = [entries]
        if object is not None:
            # Two ranges of two indexes: for one condition the planner may read the whole log.
            lists = [entries.filter(object=object), entries.filter(of_external_id(object), ~Q(object=object))]
        records = ({name: plain(entry[name]) for name in _NAMES} for entry in newest_first(*lists))
        return Outcome(_json(records), ("  ".join(value or "-" for value in record.values()) for record in records))


def _json(records: Iterator[dict[str, str]]) -> Iterator[str]:
    """One JSON object, an entry a line: the log may be longer than the memory."""
    yield '{"entries": ['
    before = ""
    for record in records:
        yield f"{before}{json.dumps(record)}"
        before = ","
    yield "]}"
