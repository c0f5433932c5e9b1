"""The evidence pack of a user: `data.json` for programs and `index.html` for people, with the same contents.

Both are written row by row, so that memory does not grow with the history. Beside them are the documents' files, and
what verifies all of it (archives.py).
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice.exports import archives
from backoffice.exports.archives import NO_FILE, Attachments, File
from backoffice.exports.downloads import in_chunks
from backoffice.exports.evidence_words import FILE_WORDS, REQUIREMENT_WORDS, Words, heading, text
from backoffice.exports.rows import (
    CONVERSION_WORDS,
    DOCUMENT_WORDS,
    SUBMITTED,
    USER,
    Record,
    conversion_records,
    document_records,
    dump,
    records,
)
from core.evidence_key import signing_key_id
from users.file.entries import KINDS, shown_fields
from users.models import AccessRecord, RequirementResponse, User, UserEvent
from users.models.columns import camel_case
from users.profile.labels import NOTHING
from users.retention import is_held

DECISION = {
    "at": "created_at",
    "from": "from_status",
    "to": "to_status",
    "by": "by__username",
    "proposedBy": "proposal__by__username",
    "proposedAt": "proposal__created_at",
    "commonMaker": "common_maker",
    "reasonCode": "reason_code",
    "reason": "reason",
    "waitedSince": "waiting_since",
}
# Of decisions and proposals.
_BASIS = {"at": "created_at", "by": "by__username", "from": "from_status", "to": "to_status", "basis": "basis"}
_SEEN_FOR: Words = {
    "what": {
        "decision": gettext_lazy("Decision"),
        "proposal": gettext_lazy("Proposal"),
    }
}
_REQUIREMENT = {
    "requirementId": "id",
    "at": "created_at",
    "code": "code",
    "fields": "fields",
    "message": "message",
    "dueAt": "due_at",
    "by": "by__username",
    "closedAt": "closure__created_at",
    "closedBy": "closure__by__username",
    # The status that the decision led to.
    "closedByDecision": "closure__decision__to_status",
    "closingNote": "closure__note",
}
_HOLD = {
    "at": "created_at",
    "by": "by__username",
    "reason": "reason",
    "releasedAt": "release__created_at",
    "releasedBy": "release__by__username",
    "releaseReason": "release__reason",
}
_NOTE = {"at": "created_at", "by": "staff__username", "note": "text"}
_EVENT = {"at": "pgh_created_at", "change": "pgh_label", "by": "pgh_context", "status": "status", **SUBMITTED}
_ACCESS = {"at": "created_at", "what": "kind", "by": "staff__username", "requestId": "request_id", "detail": "detail"}


# So many answers of the partner share one statement for their profiles.
_BATCH_SIZE = 250


@dataclass(frozen=True, slots=True)
class Part:
    """A list in the pack. key: its name in data.json. records: queries the rows again at each call.

    repeated: the names whose values the page shows only where they differ from the row before.
    """

    key: str
    title: Any
    records: Callable[[User], Iterable[Mapping[str, Any]]]
    words: Words = field(default_factory=dict)
    repeated: frozenset[str] = frozenset()


def parts(attachments: Attachments | None = None) -> list[Part]:
    """Return the lists of a pack. attachments: the files of their rows that are in it."""
    return [
        Part("statusChanges", _("Decisions"), _decisions, repeated=frozenset({"profile"})),
        Part("decidedOn", _("Decided on this"), decided_on, _SEEN_FOR),
        Part("requirements", _("Asked of the partner"), partial(requirements, _REQUIREMENT), REQUIREMENT_WORDS),
        Part("requirementResponses", _("Answers of the partner"), answers, REQUIREMENT_WORDS),
        Part("file", _("File"), file_records, FILE_WORDS),
        Part("holds", _("Holds"), lambda user: records(user.holds.order_by("created_at", "id"), _HOLD)),
        Part("notes", _("Notes"), lambda user: records(user.case_notes.order_by("id"), _NOTE)),
        Part("history", _("Profile history"), _history, repeated=frozenset(SUBMITTED)),
        Part("accesses", _("Access by staff"), lambda user: records(user.accesses.order_by("id"), _ACCESS)),
        Part("conversions", _("Conversions"), conversion_records, CONVERSION_WORDS),
        Part("documents", _("Documents"), partial(with_files, document_records, attachments), DOCUMENT_WORDS),
    ]


def decided_on(user: User) -> Iterator[Record]:
    """Yield what was shown with each decision and proposal, the earliest first, in codes and data.

    openSeconds: null where the person had not opened the case.
    """
    kinds = (
        _of_kind(what, records(rows.filter(basis__isnull=False).order_by("created_at", "id"), _BASIS))
        for what, rows in (("decision", user.status_changes), ("proposal", user.proposals))
    )
    for record in heapq.merge(*kinds, key=itemgetter("at")):
        data = record.pop("basis")
        changes = [
            one | {"fields": {camel_case(column): values for column, values in one["fields"].items()}}
            for one in data["changes"]
        ]
        yield record | data | {"changes": changes}


def _of_kind(what: str, bases: Iterator[Record]) -> Iterator[Record]:
    for record in bases:
        yield {"at": record["at"], "what": what} | record


def _decisions(user: User) -> Iterator[Record]:
    """Yield the decisions, each with the profile on which it was made: that of the event that the decision caused."""
    moves = _moves(user)
    for decision in records(user.status_changes.order_by("id"), DECISION):
        yield decision | {"profile": next((one for status, one in moves if status == decision["to"]), {})}


def _moves(user: User) -> Iterator[tuple[str, Record]]:
    """Yield each new status with the profile that it was given to, in order."""
    status = None
    for event in records(UserEvent.objects.filter(pgh_obj=user).order_by("pgh_id"), {"status": "status", **SUBMITTED}):
        if status not in {None, event["status"]}:
            yield event["status"], {name: event[name] for name in SUBMITTED}
        status = event["status"]


def requirements(lookups: Mapping[str, str], user: User) -> Iterator[Record]:
    """Yield what the partner was asked. lookups: of its record, with `fields`."""
    for record in records(user.requirements.order_by("created_at", "id"), lookups):
        yield record | {"fields": [camel_case(column) for column in record["fields"]]}


def answers(user: User) -> Iterator[Record]:
    """Yield the partner's answers, each with the fields that were asked for: when they were, and with the answer."""
    answers = RequirementResponse.objects.filter(requirement__user=user).select_related("requirement").order_by("id")
    rows = answers.iterator()
    while batch := list(islice(rows, _BATCH_SIZE)):
        wanted = {event for one in batch for event in (one.profile_event, one.requirement.profile_event)}
        profiles: Mapping[int | None, Any] = UserEvent.objects.in_bulk(wanted)
        for answer in batch:
            asked = answer.requirement
            before, after = profiles.get(asked.profile_event), profiles.get(answer.profile_event)
            yield {
                "requirementId": asked.pk,
                "at": answer.created_at,
                "by": answer.context or {},
                "code": asked.code,
                "note": answer.note,
                "answers": {
                    camel_case(column): [getattr(before, column, None), getattr(after, column, None)]
                    for column in asked.fields
                },
            }


def file_records(user: User, *, for_person: bool = False) -> Iterator[Record]:
    """Yield the entries of the user's file, without what is encrypted. for_person: what the person may see."""
    rows = user.file_entries.filter(kind__in=[kind.code for kind in KINDS.values() if kind.is_told or not for_person])
    for entry in rows.select_related("by").order_by("created_at", "id").iterator():
        kind = KINDS[entry.kind]
        closes = {"closes": entry.ends_id} if entry.ends_id else {}
        due = {kind.due: entry.due_on} if entry.due_on else {}
        by = {} if for_person else {"by": entry.author}
        yield {"at": entry.created_at, "kind": entry.kind, "id": entry.pk, **by, **closes, **shown_fields(entry), **due}


def _history(user: User) -> Iterator[Record]:
    for event in records(UserEvent.objects.filter(pgh_obj=user).order_by("pgh_id"), _EVENT):
        change = "created" if event["change"] == "insert" else "changed"
        yield event | {"change": change, "by": event["by"] or {}}


def with_files(
    documents: Callable[[User], Iterable[Record]], attachments: Attachments | None, user: User
) -> Iterator[Record]:
    """Yield the records of documents, each with the name of its file in the pack."""
    for record in documents(user):
        file = attachments.of_documents.get(record["documentId"], NO_FILE) if attachments else {}
        yield {**record, **file}


def archive(user_id: UUID, access: AccessRecord) -> Iterator[bytes]:
    """Generate the pack of a user. access: the export's entry in the access log."""
    title = _("Evidence pack of user %(user)s.") % {"user": user_id}
    return archives.archive(files_of(user_id, access, Attachments(access)), about(title, access))


def about(title: str, access: AccessRecord) -> str:
    """Return the beginning of README.txt."""
    made = _("Exported by %(by)s at %(at)s UTC, request %(request_id)s in the access log.")
    by, at = access.staff.get_username(), f"{access.created_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    return f"{title}\n{made % {'by': by, 'at': at, 'request_id': access.request_id}}"


def files_of(user_id: UUID, access: AccessRecord, attachments: Attachments) -> Iterator[File]:
    """Yield what a pack has of this user: files, page and data."""
    user = User.objects.get(pk=user_id)
    [profile] = records(User.objects.filter(pk=user_id), USER)
    # First, so that the page can say which files are missing.
    yield from attachments.files(user.documents.all())
    head = {
        "exportedAt": access.created_at,
        "exportedBy": access.staff.get_username(),
        "requestId": access.request_id,
        "user": profile,
        "held": is_held(user),
    }
    template = "backoffice/exports/evidence_pack.html"
    context = {"profile": profile, "access": access, "is_held": is_held(user)}
    yield from written(user, parts=parts(attachments), head=head, template=template, context=context)


def written(
    user: User,
    *,
    parts: Sequence[Part],
    head: Mapping[str, Any],
    template: str,
    context: Mapping[str, Any],
) -> Iterator[File]:
    """Yield the parts of a pack that are written from the database.

    head: of data.json, before the lists. template, context: of the page; `profile` is a record.
    """
    yield "index.html", in_chunks(_page(user, parts, template, context))
    yield "data.json", in_chunks(_json(user, head, parts))


def _json(user: User, head: Mapping[str, Any], parts: Sequence[Part]) -> Iterator[str]:
    yield "{" + ",".join(f"{dump(name)}:{dump(value)}" for name, value in head.items())
    for part in parts:
        yield f",{dump(part.key)}:["
        for number, record in enumerate(part.records(user)):
            yield ("," if number else "") + "\n" + dump(record)
        yield "\n]"
    yield "}\n"


_CUT = "<!-- parts -->"


def _page(user: User, parts: Sequence[Part], template: str, more: Mapping[str, Any]) -> Iterator[str]:
    """Write the page. It loads nothing from elsewhere, and every value is escaped."""
    context = {
        **more,
        "user_id": user.pk,
        "is_sandbox": user.is_sandbox,
        "name": user.full_name,
        "profile": _pairs(more["profile"], {}),
        "key_id": signing_key_id(),
        "parts": parts,
        "cut": _CUT,
    }
    # A template does not stream: what is before and after the lists is rendered, the lists are written between.
    before, after = render_to_string(template, context).split(_CUT)
    yield before
    for part in parts:
        yield format_html('<section id="{}"><h2>{}</h2>', part.key, part.title)
        rows = part.records(user)
        yield from _rows(part, _changed(part, rows) if part.repeated else iter(rows))
        yield "</section>\n"
    yield after


# More fields than this are listed below each other: as columns they would not fit on a page.
MAX_COLUMNS = 6


def _changed(part: Part, rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Leave out what is as it was in the row before; what was emptied is a dash."""
    before: Mapping[str, Any] = {}
    for row in rows:
        shown = {name: one for name, one in row.items() if name not in part.repeated or before.get(name, row) != one}
        if before:
            shown |= {name: NOTHING for name in part.repeated & shown.keys() if shown[name] in ("", None)}
        yield shown
        before = row


def _rows(part: Part, rows: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    first = next(rows, None)
    if first is None:
        yield format_html("<p>{}</p>", _("None."))
    elif len(first) > MAX_COLUMNS:
        for row in chain((first,), rows):
            yield format_html("<article><dl>{}</dl></article>\n", _pairs(row, part.words))
    else:
        headings = format_html_join("", '<th scope="col">{}</th>', ((heading(name),) for name in first))
        yield format_html("<table><thead><tr>{}</tr></thead><tbody>\n", headings)
        for row in chain((first,), rows):
            cells = format_html_join("", "<td>{}</td>", ((text(row.get(name), name, part.words),) for name in first))
            yield format_html("<tr>{}</tr>\n", cells)
        yield "</tbody></table>"


def _pairs(row: Mapping[str, Any], words: Words) -> str:
    pairs = (
        ("wide" if isinstance(value, Mapping) else "", heading(name), text(value, name, words))
        for name, value in row.items()
        if value not in ({}, None, "")
    )
    return format_html_join("", '<div class="{}"><dt>{}</dt><dd>{}</dd></div>', pairs)
