"""What happened to a user, newest first: the partner's changes, staff's decisions, and who looked.

Three tables, one statement each, however long the history is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from users.admin.history import made_by, made_through
from users.models import AccessKind, AccessRecord, Staff, Status, StatusChange, User, UserEvent
from users.models.columns import IDENTITY_PERMISSION
from users.services.changes import FieldChange, differences

SHOWN = 15
MORE = 40
SHOWN_AT_MOST = 500
# Openings are many and become one line for a person and an hour: so many of them are read for each line.
OPENINGS_FOR_A_LINE = 6
SAME_VISIT = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line. rank: settles the order of what shares an instant. times: how often, since `first`."""

    when: datetime
    rank: tuple[int, int]
    kind: str
    icon: str
    title: str
    who: str
    through: str = ""
    text: str = ""
    code: str = ""
    fields: tuple[FieldChange, ...] = field(default=())
    times: int = 1
    first: datetime | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """The latest entries of one table. complete_to: before this instant there is more than was read; None: nothing."""

    entries: list[Entry]
    complete_to: datetime | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """entries: at most as many as asked for. has_more: whether there are older ones."""

    entries: list[Entry]
    has_more: bool


def timeline(user: User, reader: Staff, *, count: int = SHOWN) -> Timeline:
    """The latest `count` entries of what this reader may see."""
    sees_identity = reader.has_perm(IDENTITY_PERMISSION)
    sources: list[Source] = []
    if reader.has_perm("users.view_userevent"):
        sources.append(_profile(user, count, sees_identity=sees_identity))
    else:
        sources.append(Source([_created(user.created_at, "")], None))
    if reader.has_perm("users.view_statuschange"):
        sources.append(_decisions(user, count))
    if reader.has_perm("users.claim_user") or reader.has_perm("users.view_accessrecord"):
        sources.append(_accesses(user, count))
    return merge(sources, count)


def merge(sources: Sequence[Source], count: int) -> Timeline:
    """The newest of all sources, as far back as every one of them was read."""
    entries = [entry for source in sources for entry in source.entries]
    horizon = max((s.complete_to for s in sources if s.complete_to is not None), default=None)
    known = [entry for entry in entries if horizon is None or entry.when >= horizon]
    known.sort(key=lambda entry: (entry.when, entry.rank), reverse=True)
    return Timeline(known[:count], has_more=horizon is not None or len(known) > count)


# The three tables


def _profile(user: User, count: int, *, sees_identity: bool) -> Source:
    # One more than is told, to compare the last with.
    rows: list[Any] = list(UserEvent.objects.filter(pgh_obj=user).order_by("-pgh_id")[: count + 1])
    entries = [
        entry
        for event, before in pairwise([*rows, None])
        if (entry := _change(event, before, is_read_to_the_end=len(rows) <= count, sees_identity=sees_identity))
    ]
    return Source(entries, rows[-1].pgh_created_at if len(rows) > count else None)


def _change(event: Any, before: Any, *, is_read_to_the_end: bool, sees_identity: bool) -> Entry | None:
    """The entry of a change of the profile; None for one of the status, which the decision tells."""
    who, through = _origin(event.pgh_context)
    if before is None:
        return _created(event.pgh_created_at, who, through) if is_read_to_the_end else None
    fields = tuple(differences(before, event, sees_identity=sees_identity))
    if not fields and before.profile_changed_at == event.profile_changed_at:
        return None
    return Entry(
        event.pgh_created_at, (1, event.pgh_id), "change", "edit", _("Profile changed"), who, through, fields=fields
    )


def _origin(context: Mapping[str, str] | None) -> tuple[str, str]:
    """Who, in a word; and by what: the key's prefix and the request's id, or the command."""
    known = dict(context or {})
    key = known.pop("key", "")
    who = made_by(known) if {"partner", "staff"} & known.keys() else ""
    return who, ", ".join(
        part for part in (_("key %(key)s") % {"key": key} if key else "", made_through(known)) if part
    )


def _created(when: datetime, who: str, through: str = "") -> Entry:
    return Entry(when, (0, 0), "created", "person_add", _("Submitted"), who, through)


DECISION_ICONS = {
    Status.ACTIVE: "check_circle",
    Status.REJECTED: "cancel",
    Status.SUSPENDED: "pause_circle",
    Status.CLOSED: "block",
    Status.PENDING_COMPLIANCE: "replay",
}


def _decisions(user: User, count: int) -> Source:
    changes = user.status_changes.select_related("by").order_by("-created_at", "-id")
    return _source(list(changes[: count + 1]), count, _decision)


def _decision(change: StatusChange) -> Entry:
    title = _("%(from)s → %(to)s") % {
        "from": Status(change.from_status).label,
        "to": Status(change.to_status).label,
    }
    return Entry(
        change.created_at,
        (2, change.pk),
        f"decision {change.to_status}",
        DECISION_ICONS[Status(change.to_status)],
        title,
        change.by.get_username(),
        text=change.reason,
        code=change.reason_code,
    )


_ACCESSES: dict[AccessKind, tuple[str, Any]] = {
    AccessKind.OPENED: ("visibility", gettext_lazy("Opened")),
    AccessKind.CLAIMED: ("back_hand", gettext_lazy("Claimed")),
    AccessKind.RELEASED: ("undo", gettext_lazy("Released")),
    AccessKind.REVIEWED: ("fact_check", gettext_lazy("Changed name or birth date found in order")),
    AccessKind.EXPORTED: ("download", gettext_lazy("Exported")),
}


def _accesses(user: User, count: int) -> Source:
    at_most = count * OPENINGS_FOR_A_LINE
    records = AccessRecord.objects.filter(user=user).select_related("staff").order_by("-id")
    source = _source(list(records[: at_most + 1]), at_most, _access)
    return replace(source, entries=list(_visits(source.entries)))


def _access(record: AccessRecord) -> Entry:
    icon, title = _ACCESSES[AccessKind(record.kind)]
    return Entry(
        record.created_at,
        (3, record.pk),
        record.kind,
        icon,
        str(title),
        record.staff.get_username(),
        _("request %(id)s") % {"id": record.request_id} if record.request_id else "",
        text=record.detail,
    )


def _visits(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Openings by one person within the hour as one entry, at the latest of them."""
    visit: dict[str, int] = {}
    kept: list[Entry] = []
    for entry in entries:
        place = visit.get(entry.who)
        if entry.kind != AccessKind.OPENED:
            kept.append(entry)
        elif place is not None and kept[place].when - entry.when < SAME_VISIT:
            kept[place] = replace(kept[place], times=kept[place].times + 1, first=entry.when, through="")
        else:
            visit[entry.who] = len(kept)
            kept.append(entry)
    yield from kept


def _source(rows: list[Any], count: int, entry: Callable[[Any], Entry]) -> Source:
    """rows: newest first, one more than `count` where there are more."""
    has_more = len(rows) > count
    return Source([entry(row) for row in rows[:count]], rows[count - 1].created_at if has_more else None)
