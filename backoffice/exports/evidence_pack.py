"""The evidence pack of a user: `data.json` for programs and `index.html` for people, with the same contents.

Both are written row by row, so that memory does not grow with the history. Beside them are the documents' files, and
what verifies all of it (archives.py). The packs of several users are one archive, with an index.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import partial
from itertools import chain
from typing import Any

from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from backoffice.exports import archives
from backoffice.exports import records as of
from backoffice.exports.archives import Attachments, File
from backoffice.exports.downloads import csv_file, in_chunks
from backoffice.exports.records import SUBMITTED, USER, Record, dump, records
from backoffice.exports.words import heading, text
from core.encryption import signing_key_id
from users.models import AccessRecord, User
from users.profile.labels import NOTHING
from users.retention import held

# They have the documents' files.
EXPORT_PACKS = ("users.export_user", "transactions.download_document")
# Within EXPORT_SECONDS, four seconds for each.
MAX_USERS = 200
# More fields than this are listed below each other: as columns they would not fit on a page.
MAX_COLUMNS = 6
_CUT = "<!-- parts -->"
_INDEX = ("name", "externalId", "userId", "partner", "mode", "status", "held", "folder", "files", "faults")


@dataclass(frozen=True, slots=True)
class Part:
    """A list in the pack. key: in data.json. repeated: names that the page shows only where the value differs."""

    key: str
    title: Any
    records: Callable[[User], Iterable[Mapping[str, Any]]]
    repeated: frozenset[str] = frozenset()


def parts(files: Mapping[str, Record]) -> list[Part]:
    """Return the lists of a pack. files: of the documents that are in it."""
    return [
        Part("statusChanges", _("Decisions"), of.decisions, repeated=frozenset({"profile"})),
        Part("proposals", _("Proposals"), of.proposals),
        Part("decidedOn", _("Decided on this"), of.decided_on),
        Part("requirements", _("Asked of the partner"), of.requirements),
        Part("requirementResponses", _("Answers of the partner"), of.answers),
        Part("file", _("File"), of.file_records),
        Part("holds", _("Holds"), lambda user: records(user.holds.order_by("created_at", "id"), of.HOLD)),
        Part("notes", _("Notes"), lambda user: records(user.case_notes.order_by("id"), of.NOTE)),
        Part("history", _("Profile history"), of.history, repeated=frozenset(SUBMITTED)),
        Part("accesses", _("Access by staff"), lambda user: records(user.accesses.order_by("id"), of.ACCESS)),
        Part("conversions", _("Conversions"), of.conversions),
        Part("documents", _("Documents"), partial(of.documents, files=files)),
    ]


def archive(accesses: Sequence[AccessRecord], choice: str = "") -> Generator[bytes, None, None]:
    """Generate the pack of each entry's user. choice: how several were chosen, for their index; empty for one."""
    access, count = accesses[0], len(accesses)
    title = _("Evidence pack of user %(user)s.") % {"user": access.user_id}
    if choice:
        title = ngettext("Evidence pack of %(count)s user.", "Evidence packs of %(count)s users.", count)
        title %= {"count": count}
    made = _("Exported by %(by)s at %(at)s UTC, request %(request_id)s in the access log.") % {
        "by": access.staff.get_username(),
        "at": f"{access.created_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}",
        "request_id": access.request_id,
    }
    attachments = Attachments(access.request_id)
    files = _files_of_all(accesses, choice, attachments) if choice else _files(access, attachments)
    return archives.archive(files, f"{title}\n{made}")


def _files_of_all(accesses: Sequence[AccessRecord], choice: str, attachments: Attachments) -> Iterator[File]:
    """Yield a folder for each user, and the index."""
    rows, lines = list[dict[str, Any]](), list[tuple[Any, ...]]()
    for access in accesses:
        folder = f"{access.user_id}/"
        attachments.of_documents = {}
        for name, chunks in _files(access, attachments):
            yield folder + name, chunks
        # As the snapshot has the user.
        user = User.objects.select_related("partner").get(accesses=access)
        attached = attachments.of_documents.values()
        files = sum(one["file"] is not None for one in attached)
        faults = sum(one["fileFault"] is not None for one in attached)
        is_held = bool(held({user.pk}))
        rows.append({"user": user, "is_held": is_held, "folder": folder, "files": files, "faults": faults})
        about = (user.full_name, user.external_id, user.pk, user.partner.slug, user.partner.mode, user.status)
        lines.append((*about, is_held, folder, files, faults))
    yield "index.csv", in_chunks(csv_file(_INDEX, lines))
    context = {
        "access": accesses[0],
        "choice": choice,
        "rows": rows,
        "key_id": signing_key_id(),
        "is_sandbox": any(row["user"].is_sandbox for row in rows),
    }
    yield "index.html", (render_to_string("backoffice/exports/evidence_index.html", context).encode(),)


def _files(access: AccessRecord, attachments: Attachments) -> Iterator[File]:
    """Yield what a pack has of the user: files, page and data."""
    user = User.objects.get(accesses=access)
    [profile] = records(User.objects.filter(pk=user.pk), USER)
    # First, so that the page can say which files are missing.
    yield from attachments.files(user.documents.all())
    head = {
        "exportedAt": access.created_at,
        "exportedBy": access.staff.get_username(),
        "requestId": access.request_id,
        "user": profile,
        "held": bool(held({user.pk})),
    }
    page = {"access": access, "is_held": head["held"]}
    yield from written(user, parts(attachments.of_documents), head, "backoffice/exports/evidence_pack.html", page)


def written(
    user: User, parts: Sequence[Part], head: Mapping[str, Any], template: str, page: Mapping[str, Any]
) -> Iterator[File]:
    """Yield page and data. head: of data.json; `user` is the profile. template, page: of the page, its context."""
    yield "index.html", in_chunks(_page(user, parts, template, {**page, "profile": _pairs(head["user"])}))
    yield "data.json", in_chunks(_json(user, head, parts))


def _json(user: User, head: Mapping[str, Any], parts: Sequence[Part]) -> Iterator[str]:
    yield "{" + ",".join(f"{dump(name)}:{dump(value)}" for name, value in head.items())
    for part in parts:
        yield f",{dump(part.key)}:["
        for number, record in enumerate(part.records(user)):
            yield ("," if number else "") + "\n" + dump(record)
        yield "\n]"
    yield "}\n"


def _page(user: User, parts: Sequence[Part], template: str, context: dict[str, Any]) -> Iterator[str]:
    """Write the page. It loads nothing from elsewhere, and every value is escaped."""
    context |= {"is_sandbox": user.is_sandbox, "name": user.full_name, "key_id": signing_key_id()}
    context |= {"parts": parts, "cut": _CUT}
    # A template does not stream: what is before and after the lists is rendered, the lists are written between.
    before, after = render_to_string(template, context).split(_CUT)
    yield before
    for part in parts:
        yield format_html('<section id="{}"><h2>{}</h2>', part.key, part.title)
        yield from _rows(_changed(part, part.records(user)))
        yield "</section>\n"
    yield after


def _changed(part: Part, rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Leave out what is as it was in the row before; what was emptied is a dash."""
    before: Mapping[str, Any] = {}
    for row in rows:
        shown = {name: one for name, one in row.items() if name not in part.repeated or before.get(name, row) != one}
        if before:
            shown |= {name: NOTHING for name in part.repeated & shown.keys() if shown[name] in ("", None)}
        yield shown
        before = row


def _rows(rows: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    first = next(rows, None)
    if first is None:
        yield format_html("<p>{}</p>", _("None."))
    elif len(first) > MAX_COLUMNS:
        for row in chain((first,), rows):
            yield format_html("<article><dl>{}</dl></article>\n", _pairs(row))
    else:
        headings = format_html_join("", '<th scope="col">{}</th>', ((heading(name),) for name in first))
        yield format_html("<table><thead><tr>{}</tr></thead><tbody>\n", headings)
        for row in chain((first,), rows):
            cells = format_html_join("", "<td>{}</td>", ((text(row.get(name), name),) for name in first))
            yield format_html("<tr>{}</tr>\n", cells)
        yield "</tbody></table>"


def _pairs(row: Mapping[str, Any]) -> str:
    pairs = (
        ("wide" if isinstance(value, Mapping) else "", heading(name), text(value, name))
        for name, value in row.items()
        if value not in ({}, None, "")
    )
    return format_html_join("", '<div class="{}"><dt>{}</dt><dd>{}</dd></div>', pairs)
