"""The evidence pack of a user: all that is known of them and was done about them, for people and for programs.

`data.json` and `index.html` hold the same; both are written row by row, however long the history.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

import orjson
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from users.backoffice.case.sections import all_sections
from users.backoffice.exports.streams import ROWS_AT_ONCE, in_pieces
from users.models import AccessRecord, Status, StatusChange, User, UserEvent
from users.models.columns import PROFILE_COLUMNS
from users.services.labels import LABELS, NOTHING, in_words

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """One list of the pack. key: in data.json. records: read anew each time they are asked for."""

    key: str
    title: Any
    records: Callable[[User], Iterable[Record]]


@dataclass(frozen=True, slots=True)
class Origin:
    """By whom and when a pack was made; request_id finds the export in the access log."""

    by: str
    at: datetime
    request_id: str


def _camel(column: str) -> str:
    """As the API names it."""
    first, *others = column.split("_")
    return first + "".join(word.capitalize() for word in others)


# By the name on the wire.
PROFILE: dict[str, Callable[[User], Any]] = {
    "userId": attrgetter("id"),
    "externalId": attrgetter("external_id"),
    "partner": attrgetter("partner.slug"),
    "status": attrgetter("status"),
    "statusSince": attrgetter("status_since"),
    "createdAt": attrgetter("created_at"),
    "updatedAt": attrgetter("updated_at"),
    **{_camel(column): attrgetter(column) for column in PROFILE_COLUMNS},
}


def profile(user: User) -> dict[str, Any]:
    """A user as they are now, under the names of PROFILE."""
    return {name: value_of(user) for name, value_of in PROFILE.items()}


def files(user_id: UUID, origin: Origin) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The files of the pack, by their names. Raises User.DoesNotExist."""
    user = User.objects.select_related("partner").get(pk=user_id)
    yield "index.html", in_pieces(_page(user, origin))
    yield "data.json", in_pieces(_json(user, origin))


def parts() -> list[Part]:
    """The lists of a pack: of this floor, and of those above."""
    return [
        Part("statusChanges", gettext_lazy("Decisions"), _status_changes),
        Part("history", gettext_lazy("History of the profile"), _history),
        Part("accesses", gettext_lazy("Who looked at this user"), _accesses),
        *(Part(section.name, section.title, section.records) for section in all_sections()),
    ]


def _rows(rows: QuerySet[Any]) -> Iterator[Any]:
    return rows.iterator(chunk_size=ROWS_AT_ONCE)


def _status_changes(user: User) -> Iterator[Record]:
    for change in _rows(StatusChange.objects.filter(user=user).select_related("by").order_by("created_at", "id")):
        yield {
            "at": change.created_at,
            "from": change.from_status,
            "to": change.to_status,
            "by": change.by.get_username(),
            "reasonCode": change.reason_code,
            "reason": change.reason,
            "waitedSince": change.since,
        }


def _history(user: User) -> Iterator[Record]:
    for event in _rows(UserEvent.objects.filter(pgh_obj=user).order_by("pgh_id")):
        yield {
            "at": event.pgh_created_at,
            "change": "created" if event.pgh_label == "insert" else "changed",
            "by": event.pgh_context or {},
            "status": event.status,
            **_submitted(event),
        }


def _accesses(user: User) -> Iterator[Record]:
    for access in _rows(AccessRecord.objects.filter(user=user).select_related("staff").order_by("id")):
        yield {
            "at": access.created_at,
            "what": access.kind,
            "by": access.staff.get_username(),
            "requestId": access.request_id,
            "detail": access.detail,
        }


def _submitted(row: Any) -> dict[str, Any]:
    """What the partner submitted, of a user or of one of their earlier states."""
    return {_camel(column): getattr(row, column) for column in PROFILE_COLUMNS}


def _json(user: User, origin: Origin) -> Iterator[str]:
    yield f'{{"exportedAt":{_dump(origin.at)},"exportedBy":{_dump(origin.by)},"requestId":{_dump(origin.request_id)}'
    yield f',"user":{_dump(profile(user))}'
    for part in parts():
        yield f",{_dump(part.key)}:["
        for number, record in enumerate(part.records(user)):
            yield ("," if number else "") + "\n" + _dump(record)
        yield "\n]"
    yield "}\n"


def _dump(value: object) -> str:
    return orjson.dumps(value, default=str, option=orjson.OPT_UTC_Z).decode()


_LABEL_OF = {_camel(column): LABELS[column] for column in LABELS}


def _page(user: User, origin: Origin) -> Iterator[str]:
    """The readable page: nothing in it is loaded from anywhere, and all values are escaped."""
    facts = [(_label(name), _text(value, name)) for name, value in profile(user).items()]
    pieces = parts()
    # Cut at the mark: what stands before and after the lists is a template, the lists are written row by row.
    around = render_to_string(
        "backoffice/evidence.html",
        {"user_id": user.pk, "facts": facts, "origin": origin, "parts": pieces, "cut": _CUT},
    )
    before, after = around.split(_CUT)
    yield before
    for part in pieces:
        yield format_html('<section id="{}"><h2>{}</h2>', part.key, part.title)
        yield from _table(part.records(user))
        yield "</section>\n"
    yield after


_CUT = "<!-- parts -->"


def _table(records: Iterable[Record]) -> Iterator[str]:
    headings: list[str] | None = None
    for record in records:
        if headings is None:
            headings = list(record)
            cells = format_html_join("", '<th scope="col">{}</th>', ((_label(name),) for name in headings))
            yield format_html('<div class="scroll"><table><thead><tr>{}</tr></thead><tbody>\n', cells)
        yield format_html(
            "<tr>{}</tr>\n",
            format_html_join("", "<td>{}</td>", ((_text(record.get(name), name),) for name in headings)),
        )
    yield "</tbody></table></div>" if headings else format_html("<p>{}</p>", _("None."))


def _label(name: str) -> str:
    """A name on the wire in words."""
    return str(_LABEL_OF.get(name) or re.sub("[A-Z]", lambda capital: f" {capital[0].lower()}", name).capitalize())


def _text(value: Any, name: str = "") -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{part} {_text(one)}" for part, one in value.items() if one) or NOTHING
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S} UTC"
    if isinstance(value, str) and value in Status.values:
        return str(Status(value).label)
    return in_words("country" if name == "country" else "", value)
