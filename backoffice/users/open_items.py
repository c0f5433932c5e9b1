"""The lists of what needs somebody besides the users' own: proposals, and the open entries of users' files."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import RelatedDropdownFilter

from backoffice.access import request_id_of, staff_of
from backoffice.actions import act_on_each
from backoffice.case.acts import APPROVAL_FRESH_SECONDS
from backoffice.case.file import is_overdue
from backoffice.lists.cells import badge, column, icon_and_text, user_link
from backoffice.lists.filters import ChoiceFilter
from backoffice.lists.pages import ReadOnlyAdmin
from backoffice.lists.waiting_time import age_cell
from backoffice.users.filters import ModeFilter, mode_of
from backoffice.users.history_admin import REASON_AND_NOTE, TWO_LINES
from backoffice.users.user_lists import HEAD, head_context, tabs
from staff.login.factors import require_fresh_factor
from users.decisions import compliance, proposals
from users.file import entries
from users.file.kinds import KINDS, Kind
from users.models import FileEntry, Proposal, Status
from users.models.case import in_mode
from users.profile import field_rules
from users.profile.labels import display_birth_date, display_value

MAX_APPROVED = 50
LISTED: Mapping[str, Kind] = {code: kind for code, kind in KINDS.items() if kind.list_title}
_PREFIX = "users_fileentry_"


class _OpenItemAdmin(ReadOnlyAdmin):
    """A list alone: a row's page is the case, or the file."""

    list_display_links = None
    list_select_related = ("by", "user__partner")
    of_user = column(_("user"), lambda row: user_link(row.user))


@admin.register(Proposal)
class ProposalAdmin(_OpenItemAdmin):
    """The open proposals, longest waiting first; the name leads to the case, where they are approved or declined."""

    title = _("For a second person")
    list_display = ("waiting", "of_user", "move", "by", "reason_and_note")
    list_before_template = HEAD
    # The order of the index proposal_open.
    ordering = ("created_at", "id")
    order_note = _("longest first")
    actions = ("approve_selected",)
    empty_title = _("Nothing waits for a second person")
    empty_text = _("A proposal appears here where a decision takes two people.")

    waiting = column(_("waiting"), lambda one: age_cell(one.created_at))
    move = column(_("proposal"), lambda one: f"{Status(one.from_status).label} → {Status(one.to_status).label}")
    by = column(_("proposed by"), lambda one: one.by.get_username())
    reason_and_note = REASON_AND_NOTE

    def get_urls(self) -> list[URLPattern]:
        return [path("", self.admin_site.admin_view(self.changelist_view), name="users_proposal_changelist")]

    def head_of(self, request: HttpRequest) -> dict[str, Any]:
        return head_context(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return proposals.waiting()

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(compliance.PERMISSION)

    @admin.action(description=_("Approve"), permissions=["decide"])
    def approve_selected(self, request: HttpRequest, _queryset: QuerySet[Any]) -> HttpResponse | None:
        """Approve each selected proposal by the checks of a single one, longest waiting first."""
        if verification := require_fresh_factor(request, within=APPROVAL_FRESH_SECONDS):
            return verification
        staff, source = staff_of(request), f"request {request_id_of(request)}"
        chosen = Proposal.objects.filter(pk__in=request.POST.getlist(ACTION_CHECKBOX_NAME)[:MAX_APPROVED])
        act_on_each(
            request,
            chosen.select_related("user").order_by("created_at", "id"),
            lambda proposal: proposals.approve_opened(proposal, by=staff, source=source),
            lambda count: ngettext("%(count)s proposal is approved.", "%(count)s proposals are approved.", count),
        )
        return None


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
    options = (("30", _("within 30 days")), ("90", _("within 90 days")))
    is_indexed = is_always_applied = True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        days = int(self.value()) if self.value() in dict(self.options) else 0
        return queryset.filter(needing(kind_of(request), within_days=days))


@admin.register(FileEntry)
class FileEntryAdmin(_OpenItemAdmin):
    """The open entries of a kind, tabs of one page: the soonest due or else the longest open first."""

    list_before_template = "admin/users/fileentry/head.html"
    empty_title = _("Nothing needs you")
    empty_text = _("Entries of users' files appear here while they are open.")

    open_for = column(_("open for"), lambda entry: age_cell(entry.created_at, is_due=False))

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.changelist_view)
        return [path(f"{code}/", view, name=f"{_PREFIX}{code}") for code in LISTED]

    def head_of(self, request: HttpRequest) -> dict[str, Any]:
        mode = mode_of(request)
        lists = {
            f"{_PREFIX}{code}": (kind.list_title, in_mode(FileEntry.objects.filter(needing(kind)), mode))
            for code, kind in LISTED.items()
        }
        return {"title": kind_of(request).list_title, "tabs": tabs(request, lists)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(kind=kind_of(request).code, is_open=True)

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

    @admin.display(description=_("person"))
    def person(self, entry: FileEntry) -> str:
        """What tells the person from another of the name: birth date and country."""
        user = entry.user
        return format_html(TWO_LINES, display_birth_date(user.date_of_birth), display_value("country", user.country))

    @admin.display(description=_("entry"))
    def entry(self, entry: FileEntry) -> str:
        due = KINDS[entry.kind].labels.get(KINDS[entry.kind].due)
        lines = ((line.label, line.value) for line in entries.described(entry) if line.value and line.label != due)
        return format_html(
            '<dl class="bo-facts bo-tight">{}</dl>', format_html_join("", "<dt>{}</dt><dd>{}</dd>", lines)
        )

    @admin.display(description="")
    def next_step(self, entry: FileEntry) -> str:
        url = reverse("backoffice_file", args=(entry.user_id, entry.kind))
        name = gettext("Open the file of %(name)s") % {"name": entry.user.full_name}
        cell = '<a class="bo-button bo-plain" href="{}#entry-{}" aria-label="{}">{}</a>'
        return format_html(cell, url, entry.pk, name, gettext("Open"))
