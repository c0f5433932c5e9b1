"""The queue: the users who wait for a decision, whose partner has answered or has to, or whose name or birth date
changed since the decision.
"""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.contrib.filters.admin import BooleanRadioFilter, ChoicesDropdownFilter, RelatedDropdownFilter

from backoffice.access import staff_of
from backoffice.lists.cells import badge, icon_and_text, moment
from backoffice.queue import tabs
from backoffice.users import user_filters as filters
from backoffice.users.case_actions import (
    QUEUE_ORDER,
    STATUS_ORDER,
    CaseActionsAdmin,
    age_cell,
    answered_mark,
    display_flags,
)
from users.decisions import compliance
from users.decisions.risk_flags import risk_flag_codes
from users.models import ANSWERED, ASKED, AnsweredUser, AskedUser, ChangedUser, Claim, QueuedUser, Status
from users.models.columns import IDENTITY_PERMISSION

_COLUMNS = ("user", "place", "risk_flags", "claimed_by", "buttons")
_MORE_FILTERS = (
    filters.ClaimedFilter,
    filters.RiskFlagsFilter,
    ("partner", RelatedDropdownFilter),
    filters.ProvinceFilter,
    filters.CountryFilter,
    ("is_ciro_affiliate", BooleanRadioFilter),
    filters.ModeFilter,
)
_FILTERS = (filters.WaitingTimeFilter, *_MORE_FILTERS)


class CaseListAdmin(CaseActionsAdmin):
    """Users in the order in which they wait, the longest first; the name leads to the case.

    list_title: of the page and its tab. condition: the users of the list where nothing is searched.
    """

    list_title: Any
    condition: Q
    list_select_related = ("partner", "claim__staff")
    list_before_template = tabs.TEMPLATE
    order_note = gettext_lazy("longest first")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """The permission to view users: the proxy model has none."""
        return request.user.has_perm("users.view_user")

    def get_condition(self, request: HttpRequest) -> Q:
        """The users whom this request may find."""
        return self.condition

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(self.get_condition(request))

    def get_urls(self) -> list[URLPattern]:
        """The list alone: a row's page is the case."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_changelist"
        return [path("", self.admin_site.admin_view(self.changelist_view), name=name)]

    def prepare_rows(self, request: HttpRequest, rows: list[Any]) -> None:
        """Attach the codes of the risk flags, the claim and the possible buttons to each user, in one statement."""
        staff = staff_of(request)
        sees_identity = staff.has_perm(IDENTITY_PERMISSION)
        codes = risk_flag_codes(rows, sees_identity=sees_identity) if rows else {}
        for user in rows:
            held: Claim | None = getattr(user, "claim", None)
            user.held, user.flag_codes = held, codes[user.pk]
            user.has_all_flags = sees_identity
            user.is_mine = held is not None and held.staff_id == staff.pk
            user.may = compliance.permitted_actions(user=user, claim=held, staff=staff)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        context: dict[str, Any] = {"title": self.list_title}
        if request.method == "GET" and self.has_view_permission(request):
            context |= tabs.head_context(request, self)
        return super().changelist_view(request, context | (extra_context or {}))

    @admin.display(description=gettext_lazy("user"))
    def user_and_status(self, user: Any) -> str:
        return format_html("{} {}", self.user(user), self.status_badge(user))

    @admin.display(description=gettext_lazy("province"))
    def place(self, user: Any) -> str:
        """The province, and the country where it is not Canada."""
        return ", ".join(part for part in (user.province, user.country if user.country != "CA" else "") if part)

    @admin.display(description=gettext_lazy("risk flags"))
    def risk_flags(self, user: Any) -> str:
        none = _("None") if user.has_all_flags else _("None that your role sees")
        return display_flags(user.flag_codes) or format_html('<span class="bo-quiet">{}</span>', none)

    @admin.display(description=gettext_lazy("claimed by"))
    def claimed_by(self, user: Any) -> str:
        if user.is_mine:
            return format_html('<strong class="bo-mine">{}</strong>', _("You"))
        return (
            format_html('<span class="bo-quiet">{}</span>', _("Nobody")) if user.held is None else str(user.held.staff)
        )

    @admin.display(description="")
    def buttons(self, user: Any) -> str:
        """Buttons of backoffice/case/acts.py, in the form of the list's head."""
        name = {"name": user.full_name}
        texts = {
            "claim": (_("Claim %(name)s") % name, _("Claim")),
            "release": (_("Release %(name)s") % name, _("Release")),
        }
        button = '<button class="bo-button bo-plain" form="case-button" formaction="{}" aria-label="{}">{}</button>'
        possible = [view for view in texts if user.may[view]]
        urls = {view: reverse(f"backoffice_{view}", args=(user.pk,)) for view in possible}
        return format_html_join(" ", button, ((urls[view], *texts[view]) for view in possible))


def _has_other_statuses(request: HttpRequest) -> bool:
    return filters.has_all_statuses(request) or bool(request.GET.get("status"))


@admin.register(QueuedUser)
class QueueAdmin(CaseListAdmin):
    """Users who wait for a decision; a search finds users of every status."""

    list_title = gettext_lazy("Queue")
    condition = filters.TO_DECIDE
    list_display = ("waiting", *_COLUMNS)
    list_filter = (filters.QueueStatusFilter, *_FILTERS)
    ordering = QUEUE_ORDER
    empty_title = gettext_lazy("Nobody is waiting")
    empty_text = gettext_lazy("New users appear here when partners register them.")

    def get_condition(self, request: HttpRequest) -> Q:
        return Q() if _has_other_statuses(request) else self.condition

    def get_ordering(self, request: HttpRequest) -> Any:
        return STATUS_ORDER if _has_other_statuses(request) else QUEUE_ORDER

    def get_list_filter(self, request: HttpRequest) -> Any:
        """With the status where the users have several."""
        return (filters.QueueStatusFilter, *_FILTERS) if _has_other_statuses(request) else _FILTERS

    def get_list_display(self, request: HttpRequest) -> Any:
        """With the status where the users are of other statuses than the queue's."""
        if _has_other_statuses(request):
            return ("in_status", "user_and_status", *_COLUMNS[1:])
        return super().get_list_display(request)

    @admin.display(description=gettext_lazy("in this status"))
    def in_status(self, user: Any) -> str:
        """The time in this status; while a decision is due, the time that is compared with the target."""
        since = user.waiting_since if user.status == Status.PENDING_COMPLIANCE else None
        return answered_mark(user) + age_cell(since or user.status_since, is_due=since is not None)


@admin.register(AnsweredUser)
class AnsweredUserAdmin(CaseListAdmin):
    """Users of any status whose partner has answered what compliance asked."""

    list_title = gettext_lazy("Answered")
    condition = ANSWERED
    list_display = ("since_answer", "user_and_status", *_COLUMNS[1:])
    list_filter = (filters.AskedByFilter, *_FILTERS, ("status", ChoicesDropdownFilter))
    # The order of the index user_answered.
    ordering = QUEUE_ORDER
    empty_title = gettext_lazy("Nothing to read")
    empty_text = gettext_lazy("A user appears here when the partner has answered all that was asked.")

    @admin.display(description=gettext_lazy("since the answer"))
    def since_answer(self, user: Any) -> str:
        """The age of the answer, which is compared with the target."""
        return age_cell(user.waiting_since)


@admin.register(AskedUser)
class AskedUserAdmin(CaseListAdmin):
    """Users of any status who wait for an answer of the partner."""

    list_title = gettext_lazy("Waiting for the partner")
    condition = ASKED
    list_display = ("due", "user_and_status", *_COLUMNS[1:])
    list_filter = (filters.DueFilter, filters.AskedByFilter, ("status", ChoicesDropdownFilter), *_MORE_FILTERS)
    # The order of the index user_waiting_for_partner.
    ordering = ("requirements_due_at", "id")
    order_note = gettext_lazy("by when the answer is due")
    empty_title = gettext_lazy("No partner is asked")
    empty_text = gettext_lazy("A user appears here when compliance asks the partner, until the partner answers.")

    @admin.display(description=gettext_lazy("due"))
    def due(self, user: Any) -> str:
        """When the first answer is due, whether that has passed, and how many are missing."""
        is_overdue = user.requirements_due_at < timezone.now()
        mark = badge(icon_and_text("error", _("Overdue")), "bad") if is_overdue else ""
        count = user.open_requirements
        missing = ngettext("%(count)s open", "%(count)s open", count) % {"count": count}
        cell = '<div class="bo-age">{} <strong>{}</strong> <span>{}</span></div>'
        return format_html(cell, mark, moment(user.requirements_due_at), missing)


@admin.register(ChangedUser)
class ChangedUserAdmin(CaseListAdmin):
    """Active users whose name or birth date changed since the decision; the next decision takes them off."""

    list_title = gettext_lazy("Changed since the decision")
    condition = Q(status=Status.ACTIVE, identity_changed_at__isnull=False)
    list_display = ("since_change", *_COLUMNS)
    list_filter = _MORE_FILTERS
    # The order of the index user_identity_changed. The latest first: a change that is in order stays on the list.
    ordering = ("-identity_changed_at", "-id")
    order_note = gettext_lazy("the latest first")
    empty_title = gettext_lazy("Nobody has changed")
    empty_text = gettext_lazy("An active user appears here when the partner changes the name or the birth date.")

    @admin.display(description=gettext_lazy("since the change"))
    def since_change(self, user: Any) -> str:
        return age_cell(user.identity_changed_at, is_due=False)
