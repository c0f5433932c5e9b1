"""The export pages. Each export is in the access log before its first byte is sent."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from backoffice.access import record_access, record_exports, request_id_of, staff_of
from backoffice.exports import downloads, evidence_pack, evidence_packs, history_lists, person_copy, user_lists
from staff.login.reauthentication import require_fresh_factor
from users.models import AccessKind, Hold, User
from users.records.holds import in_force

_permitted = permission_required("users.export_user", raise_exception=True)
# The other form of the page has fields of the same names.
_HISTORY_IDS = "id_history_%s"


@require_safe
@_permitted
def exports(request: HttpRequest) -> HttpResponse:
    """Show the forms of lists and packs; what a list that leads here was filtered by is in the query string."""
    return _form_page(request, history=history_lists.HistoryForm(initial=request.GET.dict(), auto_id=_HISTORY_IDS))


@require_http_methods(["GET", "HEAD", "POST"])
@_permitted
def user_list(request: HttpRequest, extension: str) -> HttpResponseBase:
    """Send a list of users. A GET, such as after a login, leads to the form."""
    if request.method != "POST":
        return redirect("backoffice_exports")
    if (redirection := require_fresh_factor(request, download_back=reverse("backoffice_exports"))) is not None:
        return redirection
    form = user_lists.UserListForm(request.POST)
    if not form.is_valid():
        return _form_page(request, users=form)
    users, file_format = form.users(), user_lists.FORMATS[extension]
    record_access(request, AccessKind.EXPORTED, detail=f"{extension.upper()} of {form.summary() or 'all users'}")
    return _list_download(request, f"users.{extension}", file_format, file_format.lines(users))


@require_http_methods(["GET", "HEAD", "POST"])
@_permitted
def history_list(request: HttpRequest, name: str) -> HttpResponseBase:
    """Send decisions, or lines of the access log, of a period. A GET leads to the form."""
    history = history_lists.HISTORIES[name]
    staff_of(request, history.permission)
    if request.method != "POST":
        return redirect("backoffice_exports")
    if (redirection := require_fresh_factor(request, download_back=reverse("backoffice_exports"))) is not None:
        return redirection
    form = history_lists.HistoryForm(request.POST, auto_id=_HISTORY_IDS)
    if not form.is_valid():
        return _form_page(request, history=form)
    rows = form.rows(history)
    record_access(request, AccessKind.EXPORTED, detail=f"CSV of {name}: {form.summary() or 'all'}")
    return _list_download(request, f"{name}.csv", user_lists.FORMATS["csv"], history_lists.csv_lines(history, rows))


def _list_download(
    request: HttpRequest, file: str, file_format: user_lists.Format, lines: Iterator[str]
) -> HttpResponseBase:
    name, extension = file.split(".")
    return downloads.download(
        request,
        lambda: downloads.in_chunks(lines),
        name=f"{name}-{timezone.now():%Y%m%d-%H%M%S}.{extension}",
        content_type=file_format.content_type,
        cut_off=file_format.cut_off,
    )


@require_http_methods(["GET", "HEAD", "POST"])
@_permitted
def export_evidence_packs(request: HttpRequest) -> HttpResponseBase:
    """Show of which users the packs are: those chosen from a list, or those of a form; a confirmed POST sends them."""
    if request.method != "POST":
        return redirect("backoffice_exports")
    if chosen := request.POST.getlist("user"):
        users, choice, summary = _chosen(chosen), _("Chosen from a list"), "users chosen from a list"
    else:
        form = user_lists.UserListForm(request.POST)
        if not form.is_valid():
            return _form_page(request, users=form)
        users, choice, summary = form.users(), form.in_words() or _("All users"), form.summary() or "all users"
    found = evidence_packs.found(users)
    back = request.POST.get("back") or reverse("backoffice_exports")
    if "confirmed" not in request.POST or not 1 <= len(found) <= evidence_packs.MAX_USERS:
        return packs_page(request, found, choice, back=back)
    if (redirection := require_fresh_factor(request, download_back=back)) is not None:
        return redirection
    records = record_exports(request, found, detail=f"Evidence packs ({len(found)}): {summary}")
    return downloads.download(
        request,
        lambda: evidence_packs.archive(records, choice),
        name=f"evidence-{timezone.now():%Y%m%d-%H%M%S}.zip",
        content_type="application/zip",
    )


def packs_page(
    request: HttpRequest, users: Sequence[User], choice: str, *, back: str, is_chosen: bool = False
) -> HttpResponse:
    """Show of which users the packs will be. is_chosen: each by a person, not by a form.

    back: the address of the page that asked.
    """
    is_ours = url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    sent = {"user": [str(user.pk) for user in users]} if is_chosen else dict(request.POST.lists())
    context = {
        "title": _("Evidence packs"),
        "users": users[: evidence_packs.MAX_USERS],
        "choice": choice,
        "most": evidence_packs.MAX_USERS,
        "are_too_many": len(users) > evidence_packs.MAX_USERS,
        "is_sandbox": any(user.is_sandbox for user in users),
        "held": {*in_force(Hold.objects.filter(user__in=users)).values_list("user", flat=True)},
        "parts": evidence_pack.parts(),
        "back": back if is_ours else reverse("backoffice_exports"),
        "fields": [(name, value) for name, values in sent.items() if name not in _OF_PAGE for value in values if value],
    }
    return _render(request, "backoffice/exports/evidence_packs_form.html", context)


# What the page sends by itself.
_OF_PAGE = {"csrfmiddlewaretoken", "back", "confirmed"}


def _chosen(ids: Sequence[str]) -> QuerySet[User]:
    try:
        return User.objects.filter(pk__in=[UUID(one) for one in ids]).order_by(*user_lists.USER_ORDER)
    except ValueError:
        raise BadRequest from None


@require_http_methods(["GET", "HEAD", "POST"])
@_permitted
def export_evidence_pack(request: HttpRequest, user_id: UUID) -> HttpResponseBase:
    """Show what an evidence pack contains; a POST sends it."""
    user = get_object_or_404(User.objects.select_related("partner"), pk=user_id)
    if request.method != "POST":
        context = {"title": _("Evidence pack"), "case_user": user, "parts": evidence_pack.parts()}
        return _render(request, "backoffice/exports/evidence_form.html", context)
    if (redirection := require_fresh_factor(request, download_back=_case_of(user))) is not None:
        return redirection
    record = record_access(request, AccessKind.EXPORTED, user=user, detail="Evidence pack")
    return downloads.download(
        request,
        lambda: evidence_pack.archive(user.pk, record),
        name=f"evidence-{user.pk}.zip",
        content_type="application/zip",
    )


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(person_copy.PERMISSIONS, raise_exception=True)
def export_person_copy(request: HttpRequest, user_id: UUID) -> HttpResponseBase:
    """Show what a person's copy contains; a POST sends it, in the language of the button."""
    user = get_object_or_404(User.objects.select_related("partner"), pk=user_id)
    language = request.POST.get("language", "")
    if request.method != "POST" or language not in person_copy.LANGUAGES:
        context = {"title": _("Person's copy"), "case_user": user, "parts": person_copy.parts()}
        return _render(request, "backoffice/exports/person_form.html", context)
    if (redirection := require_fresh_factor(request, download_back=_case_of(user))) is not None:
        return redirection
    record = person_copy.record_export(user=user, by=staff_of(request), request_id=request_id_of(request))
    return downloads.download(
        request,
        lambda: person_copy.archive(user.pk, record, language),
        name=f"copy-{user.pk}.zip",
        content_type="application/zip",
    )


def _case_of(user: User) -> str:
    return reverse("backoffice_case", args=(user.pk,))


def _form_page(
    request: HttpRequest,
    *,
    users: user_lists.UserListForm | None = None,
    history: history_lists.HistoryForm | None = None,
) -> HttpResponse:
    context = {
        "title": _("Export"),
        "form": users or user_lists.UserListForm(),
        "history_form": history or history_lists.HistoryForm(auto_id=_HISTORY_IDS),
        "histories": {
            name: one for name, one in history_lists.HISTORIES.items() if request.user.has_perm(one.permission)
        },
        "most": evidence_packs.MAX_USERS,
        "time_zone": settings.COMPLIANCE_TIME_ZONE,
    }
    return _render(request, "backoffice/exports/user_list_form.html", context)


def _render(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    return render(request, template, admin.site.each_context(request) | context)
