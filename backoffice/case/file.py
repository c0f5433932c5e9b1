"""The file of a user: on the case the entries that count, and for each kind a page with its form and all its entries.

A form is made of the fields that the kind declares (users/file/), which alone say what is valid.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from functools import cache, partial
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_safe
from rest_framework.exceptions import ValidationError

from backoffice.access import VIEW_CASES, record_access, request_id_of, staff_of
from backoffice.actions import Act, Action, user_or_404
from backoffice.exports import person_copy
from partners.api.serializers import ChoiceField, ItemsField
from staff.models import Staff
from users.decisions import compliance
from users.file import entries
from users.file.kinds import KINDS, Kind
from users.file.serializers import DateField, NoteField
from users.models import AccessKind, AccessRecord, FileEntry, FileKind, OpenedPage, User
from users.profile import field_rules
from users.profile.labels import display_value

PERMISSION = "users.view_fileentry"
# The page of a kind has the newest.
MAX_ENTRIES = 50
# So many choices are shown at once, more in a list.
MAX_RADIOS = 3
# What the rules say of fields together, in English for partners: `make messages` finds the texts here.
_ERRORS = (
    *(gettext_noop("Must not be in the future."), gettext_noop("Must not be before 1900-01-01.")),
    *(gettext_noop("Must not be before the user's birth date."), gettext_noop("The document had expired by then.")),
    *(gettext_noop("Must differ from that of the other source."), gettext_noop("Must be at most 5 years ahead.")),
    *(gettext_noop("Must not be before it was received."), gettext_noop("This field is required.")),
)


@cache
def _countries() -> list[tuple[str, str]]:
    names = ((display_value("country", code), code) for code in field_rules.COUNTRY_CODES)
    return [(code, name) for name, code in sorted(names)]


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
        self, data: Mapping[str, Any] | None = None, *, kind: Kind, ends: FileEntry | None = None, variant: str = ""
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

    @contextmanager
    def showing_errors(self) -> Iterator[None]:
        """Show what the rules refuse, in the reader's language."""
        try:
            yield
        except ValidationError as error:
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
    shown = {"label": kind.labels[name], "required": field.required, "help_text": kind.hints.get(name, "")}
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


def file_of(user: User, reader: Staff) -> list[tuple[Kind, list[dict[str, Any]]]]:
    """Each kind with the entries that count or need somebody, for the case; empty for who may not see them."""
    if not reader.has_perm(PERMISSION):
        return []
    found = FileEntry.objects.filter(Q(is_open=True) | Q(pk__in=entries.newest(user).values("pk")), user=user)
    shown = _shown(found.order_by("-is_open", "due_on", "-created_at"))
    return [(kind, [one for one in shown if one["entry"].kind == code]) for code, kind in KINDS.items()]


def _shown(rows: QuerySet[FileEntry]) -> list[dict[str, Any]]:
    """Entries, each with the one that ended it, for people."""
    shown = []
    for entry in rows.select_related("by").prefetch_related("ended_by__by"):
        end = next(iter(entry.ended_by.all()), None)
        shown.append(
            {
                "entry": entry,
                "lines": [*entries.described(entry)],
                "end": end,
                "end_lines": [*entries.described(end)] if end else [],
                "is_overdue": is_overdue(entry),
                "is_ended_by_staff": KINDS[entry.kind].ending and (entry.is_open or end),
                "copies": _copies(entry, end),
            }
        )
    return shown


def is_overdue(entry: FileEntry) -> bool:
    """Whether an entry should have been closed or reviewed before today."""
    return entry.is_open and entry.due_on is not None and entry.due_on < field_rules.today()


def _copies(request: FileEntry, end: FileEntry | None) -> Iterable[AccessRecord]:
    """The person's copies that were made while a request of the person was open."""
    if request.kind != FileKind.PERSON_REQUEST:
        return ()
    made = AccessRecord.objects.filter(user=request.user_id, kind=AccessKind.EXPORTED, detail=person_copy.DETAIL)
    made = made.filter(created_at__range=(request.created_at, end.created_at if end else timezone.now()))
    return made.select_related("staff").order_by("id")


def _page(act: Act, *, revealed: dict[str, Any] | None = None) -> HttpResponse:
    """The entries of a kind and its forms, one of which may have been refused."""
    kind, sent = _kind_of(act.request), act.form
    shown = _shown(_entries(act).filter(ends=None).order_by("-created_at", "-id")[:MAX_ENTRIES])
    if kind.ending and act.staff.has_perm(compliance.PERMISSION):
        for one in shown:
            if one["entry"].is_open:
                one["form"] = sent if sent.ends == one["entry"] else EntryForm(kind=kind, ends=one["entry"])
    context = {
        **admin.site.each_context(act.request),
        "title": _("%(kind)s · Case %(id)s") % {"kind": kind.code.label, "id": str(act.row.pk)[:8]},
        "case_user": act.row,
        "kind": kind,
        "variants": [
            (value, kind.choices[kind.serializer.varies_by](value).label) for value in kind.serializer.variants
        ],
        "entries": shown,
        "form": EntryForm(**_add_options(act)) if sent.ends else sent,
        "refusal": act.refusal,
        "revealed": revealed,
    }
    return render(act.request, "backoffice/case/file_page.html", context, status=act.status)


def _kind_of(request: HttpRequest) -> Kind:
    """The kind that the address names. Raises Http404."""
    match = request.resolver_match
    kind = KINDS.get(match.kwargs["kind"]) if match else None
    if kind is None:
        raise Http404
    return kind


def _entries(act: Act) -> Any:
    return FileEntry.objects.filter(user=act.row, kind=_kind_of(act.request).code)


# What staff do there


def _add_options(act: Act) -> dict[str, Any]:
    """The kind, and of one whose fields depend on a field, the value that is asked for."""
    kind = _kind_of(act.request)
    names = [*kind.serializer.variants]
    asked = act.request.POST.get("variant") or act.request.GET.get("variant")
    return {"kind": kind, "variant": asked if asked in names else names[0] if names else ""}


def _end_options(act: Act) -> dict[str, Any]:
    kind = _kind_of(act.request)
    if kind.ending is None:
        raise Http404
    return {"kind": kind, "ends": act.sent_row(_entries(act), "entry")}


_FileAction = partial(
    Action,
    permissions=(VIEW_CASES, PERMISSION, compliance.PERMISSION),
    form_class=EntryForm,
    form_options=_add_options,
    page=_page,
    home=lambda act: redirect("backoffice_file", act.row.pk, _kind_of(act.request).code),
)


@require_safe
@permission_required((VIEW_CASES, PERMISSION), raise_exception=True)
def file_page(request: HttpRequest, user_id: UUID, **_kind: str) -> HttpResponse:
    """Show the entries of a kind, with the form of another; opening it is in the access log."""
    act = Act(request, staff_of(request), user_or_404(user_id))
    act.form = EntryForm(**_add_options(act))
    record_access(request, AccessKind.OPENED, user=act.row, detail=OpenedPage.FILE)
    return _page(act)


@_FileAction()
def add_entry(act: Act) -> object:
    """Add an entry to the file."""
    kind, data, user = act.form.kind.code, act.form.values(), act.row
    with act.form.showing_errors():
        entries.record(user_id=user.pk, born=user.date_of_birth, kind=kind, data=data, **act.made_by)
        return _("Recorded: %(kind)s.") % {"kind": FileKind(kind).label}


@_FileAction(form_options=_end_options)
def end_entry(act: Act) -> object:
    """Close an open entry: resolve a match, or say how a request ended."""
    with act.form.showing_errors():
        entries.end(entry_id=act.form.ends.pk, data=act.form.values(), **act.made_by)
        return _("Closed: %(kind)s.") % {"kind": FileKind(act.form.kind.code).label}


@_FileAction(rule_comes_first=True)
def show_number(act: Act) -> HttpResponse:
    """Show one number or reference on the page; it is in the access log."""
    entry, name = act.sent_row(_entries(act), "entry"), act.request.POST.get("secret", "")
    try:
        value = entries.reveal(entry=entry, secret=name, by=act.staff, request_id=request_id_of(act.request))
    except KeyError:
        raise Http404 from None
    act.form = EntryForm(**_add_options(act))
    return _page(act, revealed={"entry": entry, "secret": name, "value": value})
