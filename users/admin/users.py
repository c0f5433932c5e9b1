"""Partners' users and their histories in lists: decided about on the case page, edited by their partner alone."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from partners.admin.base import ReadOnlyAdmin, TextFilter
from partners.admin.date_formatting import moment
from partners.admin.key_age import badge
from partners.admin.sections import Table
from users.admin import history
from users.admin.decisions import DecidingAdmin
from users.backoffice.access import record_access
from users.backoffice.waiting_time import AgeState, age_of
from users.models import AccessKind, AccessRecord, Status, StatusChange, User, UserEvent
from users.models.columns import IDENTITY_COLUMNS, IDENTITY_PERMISSION, PROFILE_COLUMNS
from users.services.labels import birth_in_words
from users.services.reasons import label_of
from users.services.search import find_user_ids

# The birth date with the age.
SHOWN_PROFILE = tuple("born" if column == "date_of_birth" else column for column in PROFILE_COLUMNS)
# Unfold's names of the colours of a badge.
STATUS_COLOURS = {
    Status.PENDING_COMPLIANCE.value: "",
    Status.ACTIVE.value: "success",
    Status.REJECTED.value: "danger",
    Status.SUSPENDED.value: "warning",
    Status.CLOSED.value: "danger",
}
AGE_COLOURS = {AgeState.IN_TIME: "good", AgeState.DUE_SOON: "warning", AgeState.LATE: "bad"}


class CountryFilter(TextFilter):
    """By the country's code."""

    title = _("country code")
    parameter_name = "country"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The country's users."""
        value = (self.value() or "").strip().upper()
        return queryset.filter(country=value) if value else queryset


@admin.register(User)
class UserAdmin(DecidingAdmin):
    """Users: nothing is edited. Who may decide does so here as on the case page."""

    list_display = ("name", "external_id", "partner_name", "state", "waiting", "created_at")
    list_filter = ("status", "partner", CountryFilter)
    list_select_related = ("partner",)
    list_before_template = "admin/users/user/statuses.html"
    search_fields = ("id", "external_id", "email")
    search_help_text = _("The whole of a userId, an externalId or an email address.")
    # Of the index user_waiting.
    ordering = ("status", "status_since", "id")
    fieldsets = (
        (None, {"fields": ("id", "external_id", "partner", "status", "status_since", "created_at", "updated_at")}),
        (_("Profile"), {"fields": SHOWN_PROFILE}),
    )

    def continuation_of(self, request: HttpRequest) -> tuple[str, str] | None:
        """Users of one status are listed by since when they have it."""
        return ("status_since__gte", "status_since") if request.GET.get("status__exact") else None

    def matching(self, term: str) -> Q:
        """By userId, externalId or email, each exact."""
        return Q(pk__in=find_user_ids(term))

    def tables_of(self, request: HttpRequest, obj: User) -> Iterator[Table]:
        """What was decided, and what changed."""
        if request.user.has_perm("users.view_statuschange"):
            yield history.status_changes(obj)
        if request.user.has_perm("users.view_userevent"):
            yield history.events(obj)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Without birth date and address for whom may not see them."""
        if request.user.has_perm(IDENTITY_PERMISSION):
            return self.fieldsets
        shown = [column for column in SHOWN_PROFILE if column not in {*IDENTITY_COLUMNS, "born"}]
        return (self.fieldsets[0], (self.fieldsets[1][0], {"fields": shown}))

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        """Django's; whoever is shown a user here has looked at them as on the case page."""
        record_access(request, AccessKind.OPENED, user=kwargs["obj"], detail=AccessRecord.USER_PAGE)
        context |= {"show_history": request.user.has_perm("users.view_userevent")}
        return super().render_change_form(request, context, **kwargs)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Redirect to the profile history of this user; the admin's own log has no edits of users.

        Raises PermissionDenied for those who may not see it.
        """
        if not request.user.has_perm("users.view_userevent"):
            raise PermissionDenied
        return redirect(reverse("admin:users_userevent_changelist", query={"q": object_id}))

    @admin.display(description=_("name"))
    def name(self, user: User) -> str:
        """As people are called."""
        return f"{user.first_name} {user.last_name}"

    @admin.display(description=_("partner"))
    def partner_name(self, user: User) -> str:
        """As in the queue."""
        return user.partner.name

    @admin.display(description=_("date of birth"))
    def born(self, user: User) -> str:
        """With the age."""
        return birth_in_words(user.date_of_birth)

    @display(description=_("status"), label=STATUS_COLOURS)  # type: ignore[untyped-decorator]
    def state(self, user: User) -> tuple[str, str]:
        """As a badge: its colour goes by the value."""
        return user.status, user.get_status_display()

    @admin.display(description=_("waiting"))
    def waiting(self, user: User) -> str:
        """How long a case has waited for a decision, and whether that is too long."""
        if user.status != Status.PENDING_COMPLIANCE:
            return "–"
        age = age_of(user.status_since, now=timezone.now())
        return format_html("{} {}", age.text, badge(age.state.label, AGE_COLOURS[age.state]))


@admin.register(StatusChange)
class StatusChangeAdmin(ReadOnlyAdmin):
    """Every decision that was made."""

    list_display = (
        "created_at",
        "external_id",
        "partner_of_user",
        "from_status",
        "to_status",
        "by",
        "why",
    )
    list_select_related = ("by", "user__partner")
    search_fields = ("user",)
    search_help_text = UserAdmin.search_help_text
    ordering = ("-id",)
    continuation = ("id__lt", "id")
    fields = ("created_at", "user", "from_status", "to_status", "by", "why", "reason")

    def matching(self, term: str) -> Q:
        """By the user."""
        return Q(user__in=find_user_ids(term))

    @admin.display(description=_("externalId"))
    def external_id(self, change: StatusChange) -> str:
        """The user's."""
        return change.user.external_id

    @admin.display(description=_("partner"))
    def partner_of_user(self, change: StatusChange) -> str:
        """The user's. A decision's own column `partner` is for the dashboard, and may be empty."""
        return change.user.partner.name

    @admin.display(description=_("reason code"))
    def why(self, change: StatusChange) -> str:
        """In words."""
        return label_of(change.reason_code)


@admin.register(UserEvent)
class UserEventAdmin(ReadOnlyAdmin):
    """Every change of a user's row, as it left the row."""

    list_display = ("when", "external_id", "partner", "change", "made_by", "made_through", "status")
    list_select_related = ("partner",)
    search_fields = ("pgh_obj",)
    search_help_text = UserAdmin.search_help_text
    ordering = ("-pgh_id",)
    continuation = ("pgh_id__lt", "pgh_id")
    fieldsets = (
        (None, {"fields": ("when", "change", "made_by", "made_through")}),
        (
            _("The user after it"),
            {"fields": ("user", "external_id", "partner", "status", "created_at", "updated_at")},
        ),
        (_("Profile"), {"fields": PROFILE_COLUMNS}),
    )

    def matching(self, term: str) -> Q:
        """By the user."""
        return Q(pgh_obj__in=find_user_ids(term))

    def render_change_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Django's; whoever is shown what a user was has looked at them."""
        record_access(request, AccessKind.OPENED, user=kwargs["obj"].pgh_obj, detail=AccessRecord.HISTORY_PAGE)
        return super().render_change_form(request, *args, **kwargs)

    @admin.display(description=_("when"))
    def when(self, event: Any) -> str:
        """The instant of the change."""
        return moment(event.pgh_created_at)

    @admin.display(description=_("change"))
    def change(self, event: Any) -> Any:
        """Created or changed."""
        return _("created") if event.pgh_label == "insert" else _("changed")

    @admin.display(description=_("user"))
    def user(self, event: Any) -> str:
        """To the user as it is now."""
        return format_html(
            '<a href="{}">{}</a>', reverse("admin:users_user_change", args=(event.pgh_obj_id,)), event.pgh_obj_id
        )

    @admin.display(description=_("by"))
    def made_by(self, event: Any) -> str:
        """Who."""
        return history.made_by(event.pgh_context)

    @admin.display(description=_("through"))
    def made_through(self, event: Any) -> str:
        """Which request or command."""
        return history.made_through(event.pgh_context)


@admin.register(AccessRecord)
class AccessRecordAdmin(ReadOnlyAdmin):
    """Who looked at whom, who worked on whose case, and who took data away."""

    list_display = ("created_at", "kind", "staff", "of_user", "detail", "request_id")
    list_filter = ("kind",)
    list_select_related = ("staff", "user")
    search_fields = ("user",)
    search_help_text = _("The whole of a userId, an externalId, an email address, or a staff member's username.")
    ordering = ("-id",)
    continuation = ("id__lt", "id")
    fields = ("created_at", "kind", "staff", "of_user", "detail", "request_id")

    def matching(self, term: str) -> Q:
        """By whom it was about, or else by who did it."""
        found = find_user_ids(term)
        return Q(user__in=found) if found else Q(staff__username=term)

    @admin.display(description=_("user"))
    def of_user(self, record: AccessRecord) -> str:
        """To the case; a list of many has none."""
        if record.user is None:
            return "–"
        return format_html(
            '<a href="{}">{}</a>', reverse("backoffice_case", args=(record.user_id,)), record.user.external_id
        )
