"""The audit log: who did what to what, in one list, and as CSV."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter, TextFilter
from unfold.widgets import UnfoldAdminTextInputWidget

from backoffice.audit.entries import action_label, brief_detail, detail_lines, newest_first, of_external_id
from backoffice.exports import downloads, spreadsheets
from backoffice.lists.badges import icon_and_text
from backoffice.lists.pages import ReadOnlyAdmin
from partners.db import audit
from partners.models import ActorKind, AuditEntry
from users.staff_login.reauthentication import require_fresh_factor

_ICONS = {ActorKind.STAFF: "person", ActorKind.OPERATOR: "terminal", ActorKind.PARTNER: "handshake", "": "settings"}
_BY_ITSELF = _("The service, or somebody unknown")


class ExactFilter(TextFilter):  # type: ignore[misc]
    """An exact value of the column named by the parameter; each has an index that begins with it."""

    is_indexed = True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = (self.value() or "").strip()
        return queryset.filter(**{self.parameter_name: value}) if value else queryset


class ActorFilter(ExactFilter):
    """By who acted."""

    title, parameter_name = _("who: a username, an operator or a partner's slug"), "actor"


class ObjectFilter(ExactFilter):
    """By whom or what it was done to. Beside an actor it has no index."""

    title, parameter_name = _("whom: a username, slug, key's prefix or id"), "object"

    def __init__(self, request: HttpRequest, *args: Any) -> None:
        self.is_indexed = not request.GET.get("actor", "").strip()
        super().__init__(request, *args)


class ExternalIdFilter(ExactFilter):
    """By the user whom it concerns, as partners name it. Beside an actor or an object it has no index."""

    title, parameter_name = _("user: the external ID"), "externalId"

    def __init__(self, request: HttpRequest, *args: Any) -> None:
        self.is_indexed = not (request.GET.get("actor", "") + request.GET.get("object", "")).strip()
        super().__init__(request, *args)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = (self.value() or "").strip()
        return of_external_id(queryset, value) if value else queryset


class ActionFilter(DropdownFilter):  # type: ignore[misc]
    """By what was done. Beside the others it has no index."""

    title, parameter_name = _("what"), "action"

    def __init__(self, request: HttpRequest, *args: Any) -> None:
        self.is_indexed = not any(request.GET.get(name, "").strip() for name in ("actor", "object", "externalId"))
        super().__init__(request, *args)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return sorted(((code, str(label)) for code, label in audit.ACTIONS.items()), key=lambda choice: choice[1])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(action=self.value()) if self.value() else queryset


class DayForm(forms.Form):
    """A field for a day."""

    def __init__(self, name: str, label: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        widget = UnfoldAdminTextInputWidget(attrs={"type": "date"})
        self.fields[name] = forms.CharField(label=self.Meta.labels[name], required=False, widget=widget)

    class Meta:
        labels = {"since": _("from this day"), "until": _("to this day")}


class DayFilter(TextFilter):  # type: ignore[misc]
    """By the day, in the compliance time zone: a range of the order's index."""

    form_class = DayForm
    is_indexed = True
    days = timedelta()
    lookup = "at__gte"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        try:
            day = date.fromisoformat(self.value() or "") + self.days
        except (ValueError, OverflowError):
            return queryset
        return queryset.filter(**{self.lookup: datetime.combine(day, time(), ZoneInfo(settings.COMPLIANCE_TIME_ZONE))})


class SinceFilter(DayFilter):
    """From a day on."""

    title, parameter_name = _("from this day"), "since"


class UntilFilter(DayFilter):
    """Up to a day."""

    title, parameter_name = _("to this day"), "until"
    days, lookup = timedelta(days=1), "at__lt"


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """Every act: by staff, by commands, and by partners without staff."""

    list_display = ("at", "who", "what", "whom", "in_brief")
    list_filter = (ActorFilter, ActionFilter, ObjectFilter, ExternalIdFilter, SinceFilter, UntilFilter)
    ordering = ("-at", "-id")
    fields = ("at", "who", "what", "whom", "in_detail")
    change_list_template = "admin/partners/auditentry/change_list.html"
    order_note = _("newest first")
    empty_text = _("What staff, operators and partners do will be listed here.")

    def get_urls(self) -> list[Any]:
        """Django's, and that of the export."""
        export = path("export/", self.admin_site.admin_view(self.export), name="partners_auditentry_export")
        return [export, *super().get_urls()]

    def export(self, request: HttpRequest) -> HttpResponseBase:
        """Send the list, with the filters of the form, as CSV; the export is in the log before its first byte."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            return redirect("admin:partners_auditentry_changelist")
        if (redirection := require_fresh_factor(request)) is not None:
            return redirection
        names = [one.parameter_name for one in self.list_filter]
        given = {name: request.POST[name] for name in names if request.POST.get(name)}
        request.GET = QueryDict(urlencode(given))
        entries = self.get_changelist_instance(request).get_queryset(request)
        filters = ", ".join(f"{name} {value}" for name, value in given.items())
        audit.record(AuditEntry.EXPORTED, detail={"filters": filters or None})
        return downloads.download(
            request,
            lambda: downloads.in_chunks(spreadsheets.csv_file(_HEADINGS, _cells(entries))),
            name=f"audit-log-{timezone.now():%Y%m%d-%H%M%S}.csv",
            content_type=spreadsheets.CONTENT_TYPE,
            cut_off=spreadsheets.CUT_OFF,
        )

    @admin.display(description=_("who"))
    def who(self, entry: AuditEntry) -> str:
        kind = entry.get_actor_kind_display() or _BY_ITSELF
        icon = icon_and_text(_ICONS[entry.actor_kind], entry.actor or "–")
        return format_html('<span class="bo-actor" title="{}">{}</span>', kind, icon)

    @admin.display(description=_("what"))
    def what(self, entry: AuditEntry) -> str:
        return action_label(entry.action)

    @admin.display(description=_("whom"))
    def whom(self, entry: AuditEntry) -> str:
        return format_html('<span class="bo-object">{}</span>', entry.object or "–")

    @admin.display(description=_("detail"))
    def in_brief(self, entry: AuditEntry) -> str:
        return brief_detail(entry) or "–"

    @admin.display(description=_("detail"))
    def in_detail(self, entry: AuditEntry) -> str:
        return format_html_join("", "{}<br>", ((line,) for line in detail_lines(entry))) or "–"


_HEADINGS = ("at", "kind", "actor", "action", "object", "detail")


def _cells(entries: QuerySet[AuditEntry]) -> Iterator[tuple[Any, ...]]:
    for one in newest_first(entries):
        detail = "; ".join(detail_lines(one))
        yield one.at, one.actor_kind, one.actor, one.action, one.object, detail
