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
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from backoffice.access import record_access, record_exports, request_id_of
from backoffice.actions import Act, Action
from backoffice.exports import downloads, evidence_pack, evidence_packs, lists, person_copy
from backoffice.exports.lists import FORMATS, HISTORIES, HistoryForm, UserListForm
from staff.login.factors import FRESH_SECONDS, require_fresh_factor
from users.models import AccessKind, User
from users.retention import held

EXPORT_USERS = "users.export_user"
_permitted = permission_required(EXPORT_USERS, raise_exception=True)


@dataclass(frozen=True, kw_only=True)
class ExportAction(Action):
    """Sends a file. A GET, such as after a login, shows the page with the form, or leads to it.

    page: that is shown with the form. back: the name of the page that the browser stays on.
    """

    permissions: tuple[str, ...] = (EXPORT_USERS,)
    fresh_seconds: int = FRESH_SECONDS
    page: Callable[[Act], HttpResponse] | None = None
    back: str = "backoffice_exports"

    def find(self, **kwargs: Any) -> Any:
        """The user, if it is about one; otherwise the extension of the file, if there are several."""
        if "user_id" in kwargs:
            return get_object_or_404(User.objects.select_related("partner"), pk=kwargs["user_id"])
        return kwargs.get("extension")

    def get(self, act: Act) -> HttpResponse:
        return self.page(act) if self.page and isinstance(act.row, User) else redirect(self.back)

    def show(self, act: Act) -> HttpResponse:
        return self.page(act) if self.page else redirect(self.back)

    def download_back(self, act: Act) -> str:
        return reverse(self.back, args=(act.row.pk,) if isinstance(act.row, User) else ())


# Lists


@require_safe
@_permitted
def exports(request: HttpRequest) -> HttpResponse:
    """Show the forms of lists and packs; what a list that leads here was filtered by is in the query string."""
    return _form_page(request, history=HistoryForm(initial=request.GET.dict()))


def _form_page(
    request: HttpRequest, *, users: UserListForm | None = None, history: HistoryForm | None = None
) -> HttpResponse:
    context = {
        "title": _("Export"),
        "form": users or UserListForm(),
        "history_form": history or HistoryForm(),
        "histories": {name: one for name, one in HISTORIES.items() if request.user.has_perm(one.permission)},
        "most": evidence_packs.MAX_USERS,
        "time_zone": settings.COMPLIANCE_TIME_ZONE,
    }
    return _render(request, "backoffice/exports/user_list_form.html", context)


@ExportAction(form_class=UserListForm, page=lambda act: _form_page(act.request, users=act.form))
def user_list(act: Act) -> HttpResponseBase:
    """Send a list of users."""
    users, (lines, file_format) = act.form.users(), FORMATS[act.row]
    detail = f"{act.row.upper()} of {act.form.summary() or 'all users'}"
    record_access(act.request, AccessKind.EXPORTED, detail=detail)
    return downloads.send_lines(act.request, "users", lambda: lines(users), extension=act.row, **file_format)


def _send_history(name: str, act: Act) -> HttpResponseBase:
    rows = act.form.rows(HISTORIES[name])
    record_access(act.request, AccessKind.EXPORTED, detail=f"CSV of {name}: {act.form.summary() or 'all'}")
    return downloads.send_lines(act.request, name, lambda: lists.history_lines(HISTORIES[name], rows))


# By the name of the file: decisions, or lines of the access log, of a period.
HISTORY_LISTS = {
    name: ExportAction(
        permissions=(EXPORT_USERS, history.permission),
        form_class=HistoryForm,
        page=lambda act: _form_page(act.request, history=act.form),
    )(partial(_send_history, name))
    for name, history in HISTORIES.items()
}


# Packs


@require_http_methods(["GET", "HEAD", "POST"])
@_permitted
def export_evidence_packs(request: HttpRequest) -> HttpResponseBase:
    """Show of which users the packs are: those chosen from a list, or those of a form; a confirmed POST sends them."""
    if request.method != "POST":
        return redirect("backoffice_exports")
    if chosen := request.POST.getlist("user"):
        users, choice, summary = _chosen(chosen), _("Chosen from a list"), "users chosen from a list"
    else:
        form = lists.UserListForm(request.POST)
        if not form.is_valid():
            return _form_page(request, users=form)
        users, choice, summary = form.users(), form.in_words() or _("All users"), form.summary() or "all users"
    # One more shows that they are too many.
    found = list(users.select_related("partner")[: evidence_packs.MAX_USERS + 1])
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
        content_type=downloads.ZIP,
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
        "held": held({user.pk for user in users}),
        "parts": evidence_pack.parts(),
        "back": back if is_ours else reverse("backoffice_exports"),
        "fields": [(name, value) for name, values in sent.items() if name not in _OF_PAGE for value in values if value],
    }
    return _render(request, "backoffice/exports/evidence_packs_form.html", context)


# What the page sends by itself.
_OF_PAGE = {"csrfmiddlewaretoken", "back", "confirmed"}


def _chosen(ids: Sequence[str]) -> QuerySet[User]:
    try:
        return User.objects.filter(pk__in=[UUID(one) for one in ids]).order_by(*lists.USER_ORDER)
    except ValueError:
        raise BadRequest from None


def _page_of(template: str, title: Any, parts: Callable[[], list[evidence_pack.Part]], act: Act) -> HttpResponse:
    return _render(act.request, template, {"title": str(title), "case_user": act.row, "parts": parts()})


_EVIDENCE_PAGE = partial(
    _page_of, "backoffice/exports/evidence_form.html", gettext_lazy("Evidence pack"), evidence_pack.parts
)
_COPY_PAGE = partial(_page_of, "backoffice/exports/person_form.html", gettext_lazy("Person's copy"), person_copy.parts)


@ExportAction(page=_EVIDENCE_PAGE, back="backoffice_case")
def export_evidence_pack(act: Act) -> HttpResponseBase:
    """Send what an evidence pack contains."""
    record = record_access(act.request, AccessKind.EXPORTED, user=act.row, detail="Evidence pack")
    pack = partial(evidence_pack.archive, act.row.pk, record)
    return downloads.download(act.request, pack, name=f"evidence-{act.row.pk}.zip", content_type=downloads.ZIP)


@ExportAction(permissions=person_copy.PERMISSIONS, page=_COPY_PAGE, back="backoffice_case")
def export_person_copy(act: Act) -> HttpResponseBase:
    """Send a person's copy, in the language of the button."""
    language = act.request.POST.get("language", "")
    if language not in person_copy.LANGUAGES:
        return _COPY_PAGE(act)
    record = person_copy.record_export(user=act.row, by=act.staff, request_id=request_id_of(act.request))
    copy = partial(person_copy.archive, act.row.pk, record, language)
    return downloads.download(act.request, copy, name=f"copy-{act.row.pk}.zip", content_type=downloads.ZIP)


def _render(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    return render(request, template, admin.site.each_context(request) | context)
