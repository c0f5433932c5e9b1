"""Data that leaves the back office: an evidence pack of one user, a list of many. Each is recorded before it begins."""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from functools import wraps
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from partners.models import Partner
from users.backoffice.access import record_access
from users.backoffice.exports import evidence_pack, streams, user_lists
from users.models import AccessKind, Status, User
from users.staff_login.reauthentication import require_fresh_factor

PERMISSION = "users.export_user"
_View = Callable[..., HttpResponseBase]
# Outside of these nobody was created, and calendars end.
_DAYS = (MinValueValidator(date(2000, 1, 1)), MaxValueValidator(date(2999, 12, 31)))


class ListForm(forms.Form):
    """Which users a list is to hold; all of them where nothing is given."""

    partner = forms.ModelChoiceField(
        Partner.objects.all(), label=gettext_lazy("Partner"), required=False, to_field_name="slug"
    )
    status = forms.ChoiceField(
        label=gettext_lazy("Status"), required=False, choices=[("", "---------"), *Status.choices]
    )
    country = forms.RegexField(
        r"\A[A-Za-z]{2}\Z",
        label=gettext_lazy("Country code"),
        required=False,
        help_text=gettext_lazy("Two letters, such as CA."),
    )
    created_from = forms.DateField(
        label=gettext_lazy("Created from"), required=False, validators=_DAYS, widget=forms.DateInput({"type": "date"})
    )
    created_to = forms.DateField(
        label=gettext_lazy("Created to"), required=False, validators=_DAYS, widget=forms.DateInput({"type": "date"})
    )

    def clean_country(self) -> str:
        """As it is stored."""
        return str(self.cleaned_data["country"]).upper()

    def clean(self) -> dict[str, Any]:
        """Raises ValidationError where the range is upside down."""
        given = super().clean() or {}
        first, last = given.get("created_from"), given.get("created_to")
        if first and last and last < first:
            self.add_error("created_to", _("This is before the first day."))
        return given

    def users(self) -> QuerySet[User]:
        """Those that a valid form names."""
        given = self.cleaned_data
        conditions = {
            "partner": given["partner"],
            "status": given["status"],
            "country": given["country"],
            "created_at__gte": given["created_from"] and _midnight(given["created_from"]),
            "created_at__lt": given["created_to"] and _midnight(given["created_to"] + timedelta(days=1)),
        }
        return User.objects.filter(**{name: value for name, value in conditions.items() if value})

    def in_words(self) -> str:
        """What a valid form names, for the access log: nothing of it is personal."""
        given = {name: value for name, value in self.cleaned_data.items() if value}
        return ", ".join(f"{name} {value}" for name, value in given.items()) or "all users"


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), ZoneInfo(settings.COMPLIANCE_TIME_ZONE))


def _guarded(view: _View) -> _View:
    """For who may export; a POST has to come with a second factor that was given just now."""

    @wraps(view)
    @permission_required(PERMISSION, raise_exception=True)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method == "POST" and (instead := require_fresh_factor(request)) is not None:
            return instead
        return view(request, *args, **kwargs)

    return guarded


@_guarded
@require_http_methods(["GET", "HEAD"])
def exports(request: HttpRequest) -> HttpResponse:
    """Where a list is asked for."""
    return _page(request, ListForm())


@_guarded
@require_http_methods(["GET", "HEAD", "POST"])
def user_list(request: HttpRequest, ending: str) -> HttpResponseBase:
    """Sends the list that the form names; a GET, such as after a login, leads to the form."""
    if request.method != "POST":
        return redirect("backoffice_exports")
    form = ListForm(request.POST)
    if not form.is_valid():
        return _page(request, form)
    written = user_lists.FORMATS[ending]
    # Committed before the first byte: what was begun is on record, whether it arrives or not.
    record_access(request, AccessKind.EXPORTED, detail=f"{ending.upper()} of {form.in_words()}")
    users = form.users()
    name = f"users-{timezone.now():%Y%m%d-%H%M%S}.{ending}"
    return streams.download(
        request, lambda: written.write(users), name=name, content_type=written.content_type, cut_off=written.cut_off
    )


@_guarded
@require_http_methods(["GET", "HEAD", "POST"])
def export_evidence_pack(request: HttpRequest, user_id: UUID) -> HttpResponseBase:
    """Says what a pack holds; a POST sends it."""
    user = get_object_or_404(User.objects.select_related("partner"), pk=user_id)
    if request.method != "POST":
        return _show(
            request, "evidence_form.html", title=_("Evidence pack"), case_user=user, parts=evidence_pack.parts()
        )
    record = record_access(request, AccessKind.EXPORTED, user=user, detail="Evidence pack")
    origin = evidence_pack.Origin(record.staff.get_username(), timezone.now(), record.request_id)
    return streams.download(
        request,
        lambda: streams.zipped(evidence_pack.files(user.pk, origin)),
        name=f"evidence-{user.pk}.zip",
        content_type="application/zip",
    )


def _page(request: HttpRequest, form: ListForm) -> HttpResponse:
    return _show(request, "exports.html", title=_("Export"), form=form)


def _show(request: HttpRequest, template: str, **context: Any) -> HttpResponse:
    return render(request, f"backoffice/{template}", admin.site.each_context(request) | context)


urlpatterns = [
    path("exports/", admin.site.admin_view(exports), name="backoffice_exports"),
    *(
        path(
            f"exports/users.{ending}", admin.site.admin_view(user_list), {"ending": ending}, name=f"backoffice_{ending}"
        )
        for ending in user_lists.FORMATS
    ),
    path("cases/<uuid:user_id>/evidence/", admin.site.admin_view(export_evidence_pack), name="backoffice_evidence"),
]
