"""What staff do with the file of a user: add entries, close them, and show a number."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from rest_framework.exceptions import ValidationError

from backoffice.access import record_access, request_id_of, staff_of
from backoffice.actions import Act
from backoffice.case.acts import VIEW_CASES, CaseAction, say_taken, user_or_404
from backoffice.case.file import PERMISSION, EntryForm, entries_of
from users.decisions import compliance
from users.file import entries
from users.file.entries import KINDS
from users.file.kinds import Kind
from users.models import AccessKind, FileEntry, FileKind, Page


@require_safe
@permission_required((VIEW_CASES, PERMISSION), raise_exception=True)
def file_page(request: HttpRequest, user_id: UUID, kind: str) -> HttpResponse:
    """Show the entries of a kind, with the form of another; opening it is in the access log."""
    if kind not in KINDS:
        raise Http404
    act = Act(request, staff_of(request), user_or_404(user_id))
    act.form = EntryForm(**_add_options(act))
    record_access(request, AccessKind.OPENED, user=act.row, detail=Page.FILE)
    return _page(act)


@dataclass(frozen=True, kw_only=True)
class FileAction(CaseAction):
    """On the page of a kind, which shows the form again."""

    permissions: tuple[str, ...] = (VIEW_CASES, PERMISSION, compliance.PERMISSION)
    form_class: Any = EntryForm

    def get(self, act: Act) -> HttpResponse:
        return redirect("backoffice_file", act.row.pk, _kind_of(act.request).code)

    def show(self, act: Act) -> HttpResponse:
        return _page(act)

    def succeed(self, act: Act, done: Any) -> HttpResponse:
        say_taken(act, done)
        return self.get(act)


def _kind_of(request: HttpRequest) -> Kind:
    """The kind that the address names. Raises Http404."""
    match = request.resolver_match
    kind = KINDS.get(match.kwargs["kind"]) if match else None
    if kind is None:
        raise Http404
    return kind


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


def _entries(act: Act) -> Any:
    return FileEntry.objects.filter(user=act.row, kind=_kind_of(act.request).code)


@FileAction(form_options=_add_options)
def add_entry(act: Act) -> object:
    """Add an entry to the file."""
    kind, made = act.form.kind, act.made_by
    try:
        born = act.row.date_of_birth
        entries.record(user_id=act.row.pk, born=born, kind=kind.code, data=act.form.values(), **made)
    except ValidationError as error:
        act.form.add_errors(error)
        return None
    return _("Recorded: %(kind)s.") % {"kind": FileKind(kind.code).label}


@FileAction(form_options=_end_options)
def end_entry(act: Act) -> object:
    """Close an open entry: resolve a match, or say how a request ended."""
    try:
        entries.end(entry_id=act.form.ends.pk, data=act.form.values(), **act.made_by)
    except ValidationError as error:
        act.form.add_errors(error)
        return None
    return _("Closed: %(kind)s.") % {"kind": FileKind(act.form.kind.code).label}


@FileAction(form_options=_add_options, rule_comes_first=True)
def show_number(act: Act) -> HttpResponse:
    """Show one number or reference on the page; it is in the access log."""
    entry, name = act.sent_row(_entries(act), "entry"), act.request.POST.get("secret", "")
    try:
        value = entries.reveal(entry=entry, secret=name, by=act.staff, request_id=request_id_of(act.request))
    except KeyError:
        raise Http404 from None
    act.form = EntryForm(**_add_options(act))
    return _page(act, revealed={"entry": entry, "secret": name, "value": value})


def _page(act: Act, *, revealed: dict[str, Any] | None = None) -> HttpResponse:
    """The entries of a kind and its forms, one of which may have been refused."""
    kind, sent = _kind_of(act.request), act.form
    may_record, title = act.staff.has_perm(compliance.PERMISSION), FileKind(kind.code).label
    ended = sent.ends.pk if sent.ends else None
    shown = entries_of(act.row, kind.code)
    for one in shown:
        if may_record and kind.ending and one["entry"].is_open:
            is_sent = one["entry"].pk == ended
            one["form"] = sent if is_sent else EntryForm(kind=kind, ends=one["entry"])
    context = {
        **admin.site.each_context(act.request),
        "title": _("%(kind)s · Case %(id)s") % {"kind": title, "id": str(act.row.pk)[:8]},
        "case_user": act.row,
        "kind": kind,
        "kind_title": title,
        "list_url": reverse(f"admin:users_fileentry_{kind.code}") if kind.list_title else "",
        "variants": [
            (value, kind.choices[kind.serializer.varies_by](value).label) for value in kind.serializer.variants
        ],
        "entries": shown,
        "may_record": may_record,
        "form": EntryForm(**_add_options(act)) if ended else sent,
        "refusal": act.refusal,
        "revealed": revealed,
    }
    return render(act.request, "backoffice/case/file_page.html", context, status=act.status)
