"""The lists of what needs somebody in the files of users: one for each kind that has one, tabs of one page."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import RelatedDropdownFilter

from backoffice.case.file import is_overdue
from backoffice.lists.bounded_lists import bounded_count, count_text
from backoffice.lists.cells import badge, icon_and_text, user_link
from backoffice.lists.filters import ChoiceFilter
from backoffice.lists.pages import MODE, ReadOnlyAdmin
from backoffice.lists.waiting_time import age_cell
from backoffice.users.filters import ModeFilter, mode_of
from partners.models import Mode
from users.file import entries
from users.file.entries import KINDS
from users.file.kinds import Kind
from users.models import FileEntry
from users.models.case import in_mode
from users.profile import field_rules
from users.profile.labels import display_birth_date, display_value

LISTED: Mapping[str, Kind] = {code: kind for code, kind in KINDS.items() if kind.list_title}
_PREFIX = "users_fileentry_"
MONTH, QUARTER = 30, 90


def needing(kind: Kind, *, within_days: int = 0) -> Q:
    """The entries of a kind that need somebody: those that are open, or of some kinds those due within so many days."""
    is_open = Q(kind=kind.code, is_open=True)
    return is_open if kind.lists_all else is_open & Q(due_on__lte=field_rules.today() + timedelta(days=within_days))


def kind_of(request: HttpRequest) -> Kind:
    """The kind of the list that a request is for, by its address."""
    match = request.resolver_match
    return LISTED[((match and match.url_name) or "").removeprefix(_PREFIX)]


class DueWithinFilter(ChoiceFilter):
    """Shows what falls due later, too; without it, a list of due dates has what is due."""

    title, parameter_name = _("due"), "within"
    options = ((str(MONTH), _("within 30 days")), (str(QUARTER), _("within 90 days")))
    is_indexed = is_always_applied = True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        days = {str(MONTH): MONTH, str(QUARTER): QUARTER}.get(self.value() or "", 0)
        return queryset.filter(needing(kind_of(request), within_days=days))


@admin.register(FileEntry)
class FileEntryAdmin(ReadOnlyAdmin):
    """The open entries of a kind, the soonest due or else the longest open first; they are closed on their page."""

    list_display_links = None
    list_select_related = ("by", "user__partner")
    list_before_template = "admin/users/fileentry/head.html"
    empty_title = _("Nothing needs you")
    empty_text = _("Entries of users' files appear here while they are open.")

    def get_urls(self) -> list[URLPattern]:
        """The lists alone: a row's page is of the case."""
        view = self.admin_site.admin_view(self.changelist_view)
        return [path(f"{code}/", view, name=f"{_PREFIX}{code}") for code in LISTED]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        context: dict[str, Any] = {"title": kind_of(request).list_title}
        if request.method == "GET" and self.has_view_permission(request):
            mode = mode_of(request)
            query = {MODE: mode.value} if mode == Mode.SANDBOX else {}
            context["tabs"] = [
                {
                    "title": kind.list_title,
                    "url": reverse(f"admin:{_PREFIX}{code}", query=query),
                    "count": count_text(bounded_count(in_mode(FileEntry.objects.filter(needing(kind)), mode))),
                    "is_present": kind is kind_of(request),
                }
                for code, kind in LISTED.items()
            ]
        return super().changelist_view(request, context | (extra_context or {}))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        kind = kind_of(request)
        return super().get_queryset(request).filter(kind=kind.code, is_open=True)

    def get_list_filter(self, request: HttpRequest) -> Any:
        further = () if kind_of(request).lists_all else (DueWithinFilter,)
        return (*further, ("user__partner", RelatedDropdownFilter), ModeFilter)

    def get_ordering(self, request: HttpRequest) -> Any:
        """That of the index file_entry_open, whose due dates are null for kinds without."""
        return ("due_on", "created_at", "id") if kind_of(request).due else ("created_at", "id")

    def get_list_display(self, request: HttpRequest) -> Any:
        return ("due_day" if kind_of(request).due else "open_for", "of_user", "person", "entry", "next_step")

    @admin.display(description=_("due"))
    def due_day(self, entry: FileEntry) -> str:
        mark = badge(icon_and_text("error", gettext("Overdue")), "bad") if is_overdue(entry) else ""
        return format_html('<div class="bo-age">{} <strong>{}</strong></div>', mark, display_value("", entry.due_on))

    @admin.display(description=_("open for"))
    def open_for(self, entry: FileEntry) -> str:
        return age_cell(entry.created_at, is_due=False)

    @admin.display(description=_("user"))
    def of_user(self, entry: FileEntry) -> str:
        return user_link(entry.user)

    @admin.display(description=_("person"))
    def person(self, entry: FileEntry) -> str:
        """What tells the person from another of the name: birth date and country."""
        born, country = display_birth_date(entry.user.date_of_birth), display_value("country", entry.user.country)
        return format_html('{} <span class="bo-quiet bo-below-name">{}</span>', born, country)

    @admin.display(description=_("entry"))
    def entry(self, entry: FileEntry) -> str:
        due = KINDS[entry.kind].labels.get(KINDS[entry.kind].due)
        lines = [line for line in entries.described(entry) if line.value and line.label != due]
        rows = format_html_join("", "<dt>{}</dt><dd>{}</dd>", ((line.label, line.value) for line in lines))
        return format_html('<dl class="bo-facts bo-tight">{}</dl>', rows)

    @admin.display(description="")
    def next_step(self, entry: FileEntry) -> str:
        url = reverse("backoffice_file", args=(entry.user_id, entry.kind))
        name = {"name": entry.user.full_name}
        cell = '<a class="bo-button bo-plain" href="{}#entry-{}" aria-label="{}">{}</a>'
        return format_html(cell, url, entry.pk, gettext("Open the file of %(name)s") % name, gettext("Open"))
