"""The file of a user: on the case the entries that count, and for each kind a page with its form and all its entries.

A form is made of the fields that the kind declares (users/file/), which alone say what is valid.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from rest_framework.exceptions import ValidationError

from backoffice.exports import person_copy
from backoffice.lists.waiting_time import format_duration
from partners.api.serializers import ChoiceField, ItemsField
from staff.models import Staff
from users.file import entries
from users.file.entries import KINDS
from users.file.kinds import DateField, Kind, NoteField
from users.models import AccessKind, AccessRecord, FileEntry, FileKind, User
from users.profile import field_rules
from users.profile.labels import display_value

PERMISSION = "users.view_fileentry"
# The page of a kind has the newest.
MAX_ENTRIES = 50
# The case has so many of a kind.
MAX_ON_CASE = 5
# So many choices are shown at once, more in a list.
MAX_RADIOS = 3
# What the rules say of fields together, in English for partners: `make messages` finds the texts here.
_ERRORS = (
    *(gettext_noop("Must not be in the future."), gettext_noop("Must not be before 1900-01-01.")),
    *(gettext_noop("Must not be before the user's birth date."), gettext_noop("The document had expired by then.")),
    *(
        gettext_noop("Must differ from that of the other source."),
        gettext_noop("Must not be before it was received."),
    ),
    *(gettext_noop("Must be at most 5 years ahead."), gettext_noop("This field is required.")),
)


@cache
def _countries() -> list[tuple[str, str]]:
    return sorted(
        ((code, display_value("country", code)) for code in field_rules.COUNTRY_CODES), key=lambda one: one[1]
    )


def _leaves(serializer: Any, path: str = "") -> Iterator[tuple[str, str, Any]]:
    """The path, such as sources[0].source, the name and the field of each value."""
    for name, field in serializer.fields_by_name.items():
        if isinstance(field, ItemsField):
            for index in range(field.max_length or 0):
                yield from _leaves(field.child, f"{path}{name}[{index}].")
        else:
            yield f"{path}{name}", name, field


class EntryForm(forms.Form):
    """The fields of an entry, or of the one that ends another. variant: of the field that decides on the others."""

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        kind: Kind,
        ends: FileEntry | None = None,
        variant: str = "",
    ) -> None:
        super().__init__(data, auto_id=f"{ends.pk if ends else 'add'}-%s")
        self.kind, self.ends, self.variant = kind, ends, variant
        serializer: Any = kind.ending if ends else kind.serializer
        for path, name, field in _leaves(serializer.variants[variant] if variant else serializer):
            if name != serializer.varies_by:
                self.fields[path] = _form_field(kind, name, field)

    def groups(self) -> list[tuple[str, list[Any]]]:
        """The fields, those of an item of a list together, with its title."""
        found: dict[str, list[Any]] = {}
        for path in self.fields:
            found.setdefault(path.rpartition(".")[0], []).append(self[path])
        titles = (_("Source %(number)s") % {"number": number} for number in range(1, len(found) + 1))
        return [(next(titles) if group else "", fields) for group, fields in found.items()]

    def values(self) -> dict[str, Any]:
        """What was sent, as JSON; without what was left empty."""
        sent: dict[str, Any] = {self.kind.serializer.varies_by: self.variant} if self.variant else {}
        for path, value in self.cleaned_data.items():
            if value in (None, ""):
                continue
            group, _separator, name = path.rpartition(".")
            target = sent
            if group:
                items = sent.setdefault(group.partition("[")[0], [])
                # The items come in their order, and all their fields are required.
                if not items or name in items[-1]:
                    items.append({})
                target = items[-1]
            target[name] = value.isoformat() if isinstance(value, date) else value.replace("\r\n", "\n")
        return sent

    def add_errors(self, error: ValidationError) -> None:
        """Show what the rules refused, in the reader's language."""
        for path, message in _messages(error.detail):
            self.add_error(path if path in self.fields else None, _(message))


def _messages(detail: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(detail, Mapping):
        for name, one in detail.items():
            step = f"[{name}]" if isinstance(name, int) else f".{name}" if path else name
            yield from _messages(one, f"{path}{step}")
    elif isinstance(detail, list):
        for index, one in enumerate(detail):
            yield from _messages(one, f"{path}[{index}]") if isinstance(one, Mapping) else [(path, str(one))]


def _form_field(kind: Kind, name: str, field: Any) -> forms.Field:
    rules: Mapping[str, Any] = getattr(field.rule, "keywords", {})
    shown = {
        "label": kind.labels[name],
        "required": field.required,
        "help_text": kind.hints.get(name, ""),
    }
    if isinstance(field, ChoiceField):
        choices = [*kind.choices[name].choices]
        if len(choices) <= MAX_RADIOS and field.required:
            return forms.ChoiceField(choices=choices, widget=forms.RadioSelect, **shown)
        return forms.ChoiceField(choices=[("", "–"), *choices], **shown)
    if field.rule is field_rules.country:
        return forms.ChoiceField(choices=_countries(), initial="CA", **shown)
    if isinstance(field, DateField):
        latest = {"max": field_rules.today().isoformat()} if rules.get("is_past") else {}
        return forms.DateField(widget=forms.DateInput({"type": "date", **latest}, format="%Y-%m-%d"), **shown)
    widget = forms.Textarea({"rows": 3}) if isinstance(field, NoteField) else forms.TextInput({"autocomplete": "off"})
    return forms.CharField(max_length=rules["longest"], widget=widget, **shown)


# What pages show


def file_of(user: User, reader: Staff) -> list[dict[str, Any]]:
    """Each kind with the entries that count or need somebody, for the case; empty for who may not see them."""
    if not reader.has_perm(PERMISSION):
        return []
    shown: dict[str, list[dict[str, Any]]] = {}
    found = FileEntry.objects.filter(Q(is_open=True) | Q(pk__in=entries.newest(user).values("pk")), user=user)
    for entry in _read(found.order_by("-is_open", "due_on", "-created_at")):
        shown.setdefault(entry.kind, []).append(entry_shown(entry))
    return [
        {
            "title": FileKind(code).label,
            "icon": kind.icon,
            "url": reverse("backoffice_file", args=(user.pk, code)),
            "entries": shown.get(code, [])[:MAX_ON_CASE],
            "has_more": len(shown.get(code, [])) > MAX_ON_CASE,
        }
        for code, kind in KINDS.items()
    ]


def entries_of(user: User, kind: str) -> list[dict[str, Any]]:
    """The newest entries of a kind."""
    rows = FileEntry.objects.filter(user=user, kind=kind, ends=None).order_by("-created_at", "-id")
    return [entry_shown(one) for one in _read(rows)[:MAX_ENTRIES]]


def _read(rows: QuerySet[FileEntry]) -> QuerySet[FileEntry]:
    return rows.select_related("by").prefetch_related("ended_by__by")


def entry_shown(entry: FileEntry) -> dict[str, Any]:
    """An entry, and the one that ended it, for people."""
    end = next(iter(entry.ended_by.all()), None)
    return {
        "entry": entry,
        "age": format_duration(timezone.now() - entry.created_at),
        "lines": [*entries.described(entry)],
        "end": end,
        "end_lines": [*entries.described(end)] if end else [],
        "is_overdue": is_overdue(entry),
        "is_ended_by_staff": KINDS[entry.kind].ending and (entry.is_open or end),
        "copies": _copies(entry, end),
    }


def is_overdue(entry: FileEntry) -> bool:
    """Whether an entry should have been closed or reviewed before today."""
    return entry.is_open and entry.due_on is not None and entry.due_on < field_rules.today()


def _copies(request: FileEntry, end: FileEntry | None) -> list[AccessRecord]:
    """The person's copies that were made while a request of the person was open."""
    if request.kind != FileKind.PERSON_REQUEST:
        return []
    made = AccessRecord.objects.filter(user=request.user_id, kind=AccessKind.EXPORTED, detail=person_copy.DETAIL)
    made = made.filter(created_at__gte=request.created_at, created_at__lte=end.created_at if end else timezone.now())
    return [*made.select_related("staff").order_by("id")]
