"""A user's timeline, newest first, one statement for each kind: changes by the partner, decisions, what the partner was
asked and answered, notes, holds and staff access.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from backoffice.case.file import PERMISSION as FILE
from backoffice.lists.cells import labelled, made_by, made_through
from backoffice.lists.waiting_time import format_open_time
from staff.models import Staff
from users import models
from users.decisions.decision_basis import HISTORY_PERMISSION, FieldChange, differences, display
from users.decisions.reasons import NOTES_PERMISSION, label_of, note_of, people_of
from users.file.entries import described
from users.models import AccessKind, ProposalState, RequirementClosure, RequirementResponse, Status, User, UserEvent
from users.models.columns import IDENTITY_PERMISSION
from users.profile.labels import LABELS, display_moment
from users.retention import PERMISSION as KEEP_RECORDS

SHOWN = 15
MORE = 40
MAX_SHOWN = 500
# Openings are frequent, and one person's are grouped by the hour: so many access records are read for each entry.
RECORDS_PER_ENTRY = 6
SAME_VISIT = timedelta(hours=1)


class Entry(NamedTuple):
    """A line of the timeline. times: how many openings it summarises."""

    when: datetime
    kind: str
    title: str
    actor: str = ""
    source: str = ""
    text: str = ""
    reason: str = ""
    fields: tuple[FieldChange, ...] = ()
    times: int = 1
    # What `display` gives.
    basis: dict[str, Any] | None = None

    @property
    def icon(self) -> str:
        """The name of a Material symbol."""
        return _ICONS[self.kind]

    @property
    def open_for(self) -> str:
        """How long the case had been open before a decision; empty where it was not."""
        seconds = self.basis["open_seconds"] if self.basis else None
        return "" if seconds is None else format_open_time(seconds)


# The latest entries of one table, and the time of the oldest if there are older ones, which were not read.
Source = tuple[list[Entry], datetime | None]


def timeline(user: User, reader: Staff, *, count: int = SHOWN) -> dict[str, Any]:
    """Return the latest `count` entries that the reader may see, and whether there are older ones: `has_more`."""
    may, by_time = reader.has_perm, ("-created_at", "-id")
    # Of the same instant, the entries of the first table come first.
    sources = _requirements(user, count) if may("users.view_requirement") else []
    for permission, rows, entries in (
        (FILE, user.file_entries.select_related("by", "ends").order_by(*by_time), _filed),
        (KEEP_RECORDS, user.holds.select_related("by", "release__by").order_by(*by_time), _hold),
        ("users.view_proposal", user.proposals.select_related("by", "ended_by").order_by("-created_at"), _proposal),
        (NOTES_PERMISSION, user.case_notes.select_related("staff").order_by("-id"), _note),
    ):
        if may(permission):
            sources.append(_source(rows, count, entries))
    if may("users.claim_user") or may("users.view_accessrecord"):
        records = user.accesses.select_related("staff").order_by("-id")
        accesses, complete_since = _source(records, count * RECORDS_PER_ENTRY, _access)
        sources.append((group_openings(accesses), complete_since))
    if may("users.view_statuschange"):
        decisions = user.status_changes.select_related("by", "proposal__by").order_by(*by_time)
        sources.append(_source(decisions, count, partial(_decision, reader=reader)))
    if may(HISTORY_PERMISSION):
        sources.append(_profile_changes(user, count, sees_identity=may(IDENTITY_PERMISSION)))
    else:
        sources.append(([_created(user.created_at)], None))
    return merge(sources, count)


def merge(sources: Sequence[Source], count: int) -> dict[str, Any]:
    """Merge the sources, as far back as all of them are complete."""
    horizon = max((complete_since for _entries, complete_since in sources if complete_since), default=None)
    entries = [entry for found, _since in sources for entry in found if horizon is None or entry.when >= horizon]
    entries.sort(key=lambda entry: entry.when, reverse=True)
    return {"entries": entries[:count], "has_more": horizon is not None or len(entries) > count}


def group_openings(entries: Sequence[Entry]) -> list[Entry]:
    """Merge one person's openings within SAME_VISIT into the latest of them. entries: newest first."""
    grouped: list[Entry] = []
    visits: dict[str, int] = {}
    for entry in entries:
        index = visits.get(entry.actor)
        if entry.kind == AccessKind.OPENED:
            if index is not None and grouped[index].when - entry.when < SAME_VISIT:
                grouped[index] = grouped[index]._replace(times=grouped[index].times + 1, source="")
                continue
            visits[entry.actor] = len(grouped)
        grouped.append(entry)
    return grouped


def _source(rows: QuerySet[Any], count: int, entries: Callable[[Any], Iterable[Entry]]) -> Source:
    """Read the first `count` rows, and one more to see whether there are more. rows: newest first."""
    read = list(rows[: count + 1])
    shown = [entry for row in read[:count] for entry in entries(row)]
    return shown, read[count - 1].created_at if len(read) > count else None


def _profile_changes(user: User, count: int, *, sees_identity: bool) -> Source:
    events: list[Any] = list(UserEvent.objects.filter(pgh_obj=user).order_by("-pgh_id")[: count + 1])
    entries: list[Entry] = []
    for event, before in pairwise(events):
        fields = tuple(differences(before, event, sees_identity=sees_identity))
        # An event that changes the status alone is a decision, which has an entry of its own.
        if fields or before.profile_changed_at != event.profile_changed_at:
            title = _("Profile changed")
            entries.append(Entry(event.pgh_created_at, "change", title, *_origin(event.pgh_context), fields=fields))
    if len(events) > count:
        return entries, events[-1].pgh_created_at
    return [*entries, *(_created(event.pgh_created_at, *_origin(event.pgh_context)) for event in events[-1:])], None


def _created(when: datetime, actor: str = "", source: str = "") -> Entry:
    return Entry(when, "created", _("Submitted"), actor, source)


def _origin(context: Any) -> tuple[str, str]:
    """Return who made a change, and by which API key and request, or which command."""
    return made_by(context), made_through(context)


def _decision(change: models.StatusChange, *, reader: Staff) -> Iterator[Entry]:
    before, after = Status(change.from_status), Status(change.to_status)
    yield Entry(
        change.created_at,
        after.value,
        _("%(from)s → %(to)s") % {"from": before.label, "to": after.label},
        "; ".join(people_of(change)),
        text=note_of(change) if reader.has_perm(NOTES_PERMISSION) else "",
        reason=label_of(change.reason_code),
        basis=None if change.basis is None else display(change.basis, reader),
    )


def _proposal(one: models.Proposal) -> Iterator[Entry]:
    """What was proposed, and what was declined: an approval is a decision, which has an entry of its own."""
    move = _("Proposed: %(move)s") % {"move": f"{Status(one.from_status).label} → {Status(one.to_status).label}"}
    by, reason = one.by.get_username(), label_of(one.reason_code)
    if one.state == ProposalState.DECLINED and one.ended_at:
        # Nobody where an operator did, by disabling the proposer's account: the audit log names them.
        decliner = one.ended_by.get_username() if one.ended_by else ""
        yield Entry(one.ended_at, "declined", _("Proposal declined"), decliner, text=one.note)
    yield Entry(one.created_at, "proposed", move, by, text=note_of(one), reason=reason)


def _requirements(user: User, count: int) -> list[Source]:
    """What the partner was asked, its answers, and what compliance closed."""
    asked = _source(user.requirements.select_related("by").order_by("-created_at", "-id"), count, _asked)
    if not asked[0]:
        return []
    answers = RequirementResponse.objects.filter(requirement__user=user).select_related("requirement").order_by("-id")
    closures = RequirementClosure.objects.filter(requirement__user=user).select_related("requirement", "by", "decision")
    closed = _source(closures.order_by("-created_at", "-pk"), count, _closed)
    return [closed, _source(answers, count, _answered), asked]


def _asked(one: models.Requirement) -> Iterator[Entry]:
    parts = [_("due %(when)s") % {"when": display_moment(one.due_at)}]
    if one.fields:
        parts.append(", ".join(str(LABELS[column]) for column in one.fields))
    title = _("Asked of the partner: %(code)s") % {"code": one.get_code_display()}
    yield Entry(one.created_at, "asked", title, one.by.get_username(), text=one.message, reason=" · ".join(parts))


def _answered(one: RequirementResponse) -> Iterator[Entry]:
    title = _("The partner answered: %(code)s") % {"code": one.requirement.get_code_display()}
    reason = _("Note of the partner") if one.note else _("Answered by an update")
    yield Entry(one.created_at, "answered", title, *_origin(one.context), text=one.note, reason=reason)


def _closed(one: RequirementClosure) -> Iterator[Entry]:
    title = _("Requirement closed: %(code)s") % {"code": one.requirement.get_code_display()}
    reason = ""
    if one.decision is not None:
        reason = _("By the decision: %(status)s") % {"status": Status(one.decision.to_status).label}
    yield Entry(one.created_at, "requirementClosed", title, one.by.get_username(), text=one.note, reason=reason)


def _hold(one: models.Hold) -> Iterator[Entry]:
    """A hold on the user's records, and its release."""
    if end := getattr(one, "release", None):
        yield Entry(end.created_at, "holdReleased", _("Hold released"), end.by.get_username(), text=end.reason)
    yield Entry(one.created_at, "held", _("Records held"), one.by.get_username(), text=one.reason)


def _filed(entry: models.FileEntry) -> Iterator[Entry]:
    """An entry in the user's file, or one that ended another."""
    kind = entry.get_kind_display()
    title = _("Closed: %(kind)s") % {"kind": kind} if entry.ends else kind
    values = "\n".join(labelled(line.label, line.value) for line in described(entry) if line.value)
    yield Entry(entry.created_at, "filed", title, entry.author, made_through(entry.context), text=values)


def _note(note: models.CaseNote) -> Iterator[Entry]:
    yield Entry(note.created_at, "note", _("Note"), note.staff.get_username(), text=note.text)


def _access(record: models.AccessRecord) -> Iterator[Entry]:
    title, actor = str(AccessKind(record.kind).label), record.staff.get_username()
    source = _("request %(id)s") % {"id": record.request_id} if record.request_id else ""
    yield Entry(record.created_at, record.kind, title, actor, source, text=record.detail_text)


_ICONS = {
    "created": "person_add",
    "change": "edit",
    "note": "sticky_note_2",
    "asked": "contact_support",
    "answered": "mark_email_read",
    "requirementClosed": "task_alt",
    "proposed": "group_add",
    "declined": "group_off",
    "filed": "folder_open",
    "held": "lock",
    "holdReleased": "lock_open",
    Status.ACTIVE: "check_circle",
    Status.REJECTED: "cancel",
    Status.SUSPENDED: "pause_circle",
    Status.CLOSED: "block",
    Status.PENDING_COMPLIANCE: "replay",
    AccessKind.OPENED: "visibility",
    AccessKind.CLAIMED: "back_hand",
    AccessKind.RELEASED: "undo",
    AccessKind.EXPORTED: "download",
    AccessKind.REVEALED: "key",
}
