"""The export pages. Each export is in the access log before its first byte is sent."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from backoffice.access import record_access, request_id_of, staff_of
from backoffice.exports import downloads, evidence_pack, person_copy, user_lists
from users.models import AccessKind, User
from users.staff_login.reauthentication import require_fresh_factor

_permitted = permission_required("users.export_user", raise_exception=True)


@require_safe
@_permitted
def exports(request: HttpRequest) -> HttpResponse:
    """Show the form of a list of users."""
    return _form_page(request, user_lists.UserListForm())


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
        return _form_page(request, form)
    users, file_format = form.users(), user_lists.FORMATS[extension]
    record_access(request, AccessKind.EXPORTED, detail=f"{extension.upper()} of {form.summary()}")
    return downloads.download(
        request,
        lambda: downloads.in_chunks(file_format.lines(users)),
        name=f"users-{timezone.now():%Y%m%d-%H%M%S}.{extension}",
        content_type=file_format.content_type,
        cut_off=file_format.cut_off,
    )


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
        lambda: downloads.zipped(evidence_pack.files(user.pk, record)),
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
        lambda: downloads.zipped(person_copy.archive_files(user.pk, record, language)),
        name=f"copy-{user.pk}.zip",
        content_type="application/zip",
    )


def _case_of(user: User) -> str:
    return reverse("backoffice_case", args=(user.pk,))


def _form_page(request: HttpRequest, form: user_lists.UserListForm) -> HttpResponse:
    return _render(request, "backoffice/exports/user_list_form.html", {"title": _("Export"), "form": form})


def _render(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    return render(request, template, admin.site.each_context(request) | context)
