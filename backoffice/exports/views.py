"""The export pages. Each export is in the access log before its first byte is sent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from backoffice.access import record_access, request_id_of, staff_of
from backoffice.actions import Act, Action
from backoffice.exports import downloads, evidence_pack, person_copy
from backoffice.exports.evidence_pack import EXPORT_PACKS, MAX_USERS
from backoffice.exports.lists import EXPORT_USERS, LISTS, ExportForm, HistoryForm, UserListForm
from staff.login.factors import FRESH_SECONDS, require_fresh_factor
from users.models import AccessKind, AccessRecord, User
from users.retention import held


@dataclass(frozen=True, kw_only=True)
class ExportAction(Action):
    """Sends a file; the browser stays on the page `back`. A GET, such as after a login, leads to the form."""

    permissions: tuple[str, ...] = (EXPORT_USERS,)
    fresh_seconds: int = FRESH_SECONDS
    back: str = "backoffice_exports"

    def get(self, act: Act) -> HttpResponse:
        return self.show(act) if act.row else redirect(self.back)

    def download_back(self, act: Act) -> str:
        return reverse(self.back, args=(act.row.pk,) if act.row else ())


# Lists


@require_safe
@permission_required(EXPORT_USERS, raise_exception=True)
def exports(request: HttpRequest) -> HttpResponse:
    """Show the forms of lists and packs; what a list that leads here was filtered by is in the query string."""
    return _form_page(request)


def _form_page(request: HttpRequest, form: ExportForm | None = None) -> HttpResponse:
    histories = {name: one for name, one in LISTS.items() if one.form_class is HistoryForm}
    context = {
        "title": _("Export"),
        "form": form if isinstance(form, UserListForm) else UserListForm(),
        "history_form": form if isinstance(form, HistoryForm) else HistoryForm(initial=request.GET.dict()),
        "histories": {name: one for name, one in histories.items() if request.user.has_perm(one.permission)},
        "most": MAX_USERS,
        "time_zone": settings.COMPLIANCE_TIME_ZONE,
    }
    return _render(request, "user_list_form", context)


def _send_list(name: str, act: Act) -> HttpResponseBase:
    record_access(act.request, AccessKind.EXPORTED, detail=f"CSV of {name}: {act.form.summary()}")
    return downloads.send_csv(act.request, name, LISTS[name].lookups, LISTS[name].rows(act.form))


# By the name of the file.
LIST_VIEWS = {
    name: ExportAction(
        permissions=(EXPORT_USERS, one.permission),
        form_class=one.form_class,
        page=lambda act: _form_page(act.request, act.form),
    )(partial(_send_list, name))
    for name, one in LISTS.items()
}


# Packs


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(EXPORT_PACKS, raise_exception=True)
def export_evidence_packs(request: HttpRequest) -> HttpResponseBase:
    """Show of which users the packs are: those chosen from a list, or those of a form; a confirmed POST sends them."""
    if request.method != "POST":
        return redirect("backoffice_exports")
    # One more shows that they are too many.
    limit, form = MAX_USERS + 1, None
    if chosen := request.POST.getlist("user"):
        try:
            rows = User.objects.filter(pk__in=[UUID(one) for one in chosen]).select_related("partner")
        except ValueError:
            raise BadRequest from None
        users = [*rows.order_by("partner_id", "created_at", "id")[:limit]]
    else:
        form = UserListForm(request.POST)
        if not form.is_valid():
            return _form_page(request, form)
        users = form.users(limit)
    back = request.POST.get("back") or reverse("backoffice_exports")
    if "confirmed" not in request.POST or not 1 <= len(users) <= MAX_USERS:
        return packs_page(request, users, form, back=back)
    if (redirection := require_fresh_factor(request, download_back=back)) is not None:
        return redirection
    choice = form.in_words() if form else _("Chosen from a list")
    summary = form.summary() if form else "users chosen from a list"
    entry = {"kind": AccessKind.EXPORTED, "staff": staff_of(request), "request_id": request_id_of(request)}
    detail = f"Evidence packs ({len(users)}): {summary}"
    accesses = AccessRecord.objects.bulk_create([AccessRecord(user=user, detail=detail, **entry) for user in users])
    name = f"evidence-{timezone.now():%Y%m%d-%H%M%S}.zip"
    return downloads.download(request, evidence_pack.archive(accesses, choice), name=name)


def packs_page(
    request: HttpRequest, users: Sequence[User], form: UserListForm | None = None, *, back: str
) -> HttpResponse:
    """Show of which users the packs will be. form: that found them, if any. back: the address that asked."""
    is_ours = url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    chosen = [("user", str(user.pk)) for user in users]
    context = {
        "title": _("Evidence packs"),
        "users": users[:MAX_USERS],
        "choice": form.in_words() if form else _("Chosen from a list"),
        "most": MAX_USERS,
        "are_too_many": len(users) > MAX_USERS,
        "is_sandbox": any(user.is_sandbox for user in users),
        "held": held({user.pk for user in users}),
        "parts": evidence_pack.parts({}),
        "back": back if is_ours else reverse("backoffice_exports"),
        "fields": [(name, form.data[name]) for name in form.fields if form.data.get(name)] if form else chosen,
    }
    return _render(request, "evidence_packs_form", context)


def _pack_page(template: str, title: Any, parts: Callable[..., Any], act: Act) -> HttpResponse:
    return _render(act.request, template, {"title": title, "case_user": act.row, "parts": parts({})})


_EVIDENCE_PAGE = partial(_pack_page, "evidence_form", gettext_lazy("Evidence pack"), evidence_pack.parts)
_COPY_PAGE = partial(_pack_page, "person_form", gettext_lazy("Person's copy"), person_copy.parts)


@ExportAction(permissions=EXPORT_PACKS, page=_EVIDENCE_PAGE, back="backoffice_case")
def export_evidence_pack(act: Act) -> HttpResponseBase:
    """Send what an evidence pack contains."""
    access = record_access(act.request, AccessKind.EXPORTED, user=act.row, detail="Evidence pack")
    return downloads.download(act.request, evidence_pack.archive([access]), name=f"evidence-{act.row.pk}.zip")


@ExportAction(permissions=EXPORT_PACKS, page=_COPY_PAGE, back="backoffice_case")
def export_person_copy(act: Act) -> HttpResponseBase:
    """Send a person's copy, in the language of the button."""
    language = act.request.POST.get("language", "")
    if language not in person_copy.LANGUAGES:
        return _COPY_PAGE(act)
    access = person_copy.record_export(user=act.row, by=act.staff, request_id=request_id_of(act.request))
    return downloads.download(act.request, person_copy.archive(access, language), name=f"copy-{act.row.pk}.zip")


def _render(request: HttpRequest, page: str, context: dict[str, Any]) -> HttpResponse:
    return render(request, f"backoffice/exports/{page}.html", admin.site.each_context(request) | context)
