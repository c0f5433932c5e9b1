"""The admin of what happened to users: decisions, the profile history, the access log."""

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from partners.admin.date_formatting import moment
from partners.admin.pages import ReadOnlyAdmin
from users.admin.filters import ModeFilter, mode_of
from users.backoffice import change_origin
from users.backoffice.access import record_access
from users.models import AccessKind, AccessRecord, StatusChange, UserEvent
from users.models.columns import PROFILE_COLUMNS
from users.services.reasons import label_of
from users.services.search import find_user_ids

SEARCH_HELP = _("The whole of a userId, an externalId or an email address.")


@admin.register(StatusChange)
class StatusChangeAdmin(ReadOnlyAdmin):
    """Every decision."""

    list_display = ("created_at", "external_id", "partner_of_user", "from_status", "to_status", "by", "reason_label")
    list_filter = (ModeFilter,)
    list_select_related = ("by", "user__partner")
    search_fields = ("user",)
    search_help_text = SEARCH_HELP
    # The order is of time: an id is drawn before the row's trigger has locked the user and sets the time.
    ordering = ("-created_at", "-id")
    fields = ("created_at", "user", "from_status", "to_status", "by", "reason_label", "reason")

    def matching(self, request: HttpRequest, term: str) -> Q:
        return Q(user__in=find_user_ids(term, mode_of(request)))

    @admin.display(description=_("externalId"))
    def external_id(self, change: StatusChange) -> str:
        return change.user.external_id

    @admin.display(description=_("partner"))
    def partner_of_user(self, change: StatusChange) -> str:
        """The user's partner; the decision's own column is for the dashboard, and may be empty."""
        return change.user.partner.name

    @admin.display(description=_("reason code"))
    def reason_label(self, change: StatusChange) -> str:
        return label_of(change.reason_code)


@admin.register(UserEvent)
class UserEventAdmin(ReadOnlyAdmin):
    """Every change of a user's row, with the row after it."""

    list_display = ("when", "external_id", "partner", "change", "made_by", "made_through", "status")
    list_filter = (ModeFilter,)
    list_select_related = ("partner",)
    search_fields = ("pgh_obj",)
    search_help_text = SEARCH_HELP
    ordering = ("-pgh_id",)
    fieldsets = (
        (None, {"fields": ("when", "change", "made_by", "made_through")}),
        (
            _("The user after it"),
            {"fields": ("user", "external_id", "partner", "status", "created_at", "updated_at")},
        ),
        (_("Profile"), {"fields": PROFILE_COLUMNS}),
    )

    def matching(self, request: HttpRequest, term: str) -> Q:
        return Q(pgh_obj__in=find_user_ids(term, mode_of(request)))

    def render_change_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Django's page; opening it is recorded in the access log."""
        record_access(request, AccessKind.OPENED, user=kwargs["obj"].pgh_obj, detail=AccessRecord.HISTORY_PAGE)
        return super().render_change_form(request, *args, **kwargs)

    @admin.display(description=_("when"))
    def when(self, event: Any) -> str:
        return moment(event.pgh_created_at)

    @admin.display(description=_("change"))
    def change(self, event: Any) -> Any:
        return event.change

    @admin.display(description=_("user"))
    def user(self, event: Any) -> str:
        return format_html(
            '<a href="{}">{}</a>', reverse("admin:users_user_change", args=(event.pgh_obj_id,)), event.pgh_obj_id
        )

    @admin.display(description=_("by"))
    def made_by(self, event: Any) -> str:
        return change_origin.made_by(event.pgh_context)

    @admin.display(description=_("through"))
    def made_through(self, event: Any) -> str:
        return change_origin.made_through(event.pgh_context)


@admin.register(AccessRecord)
class AccessRecordAdmin(ReadOnlyAdmin):
    """Who opened, claimed, reviewed or exported which user."""

    list_display = ("created_at", "kind", "staff", "of_user", "detail_text", "request_id")
    list_filter = (("kind", ChoicesDropdownFilter), ModeFilter)
    list_select_related = ("staff", "user")
    search_fields = ("user",)
    search_help_text = _("The whole of a userId, an externalId, an email address, or a staff member's username.")
    ordering = ("-id",)
    fields = ("created_at", "kind", "staff", "of_user", "detail_text", "request_id")

    def matching(self, request: HttpRequest, term: str) -> Q:
        """Search by the user, or else by the staff member."""
        users = find_user_ids(term, mode_of(request))
        return Q(user__in=users) if users else Q(staff__username=term)

    @admin.display(description=_("user"))
    def of_user(self, record: AccessRecord) -> str:
        """A link to the case; exports of lists have none."""
        if record.user is None:
            return "–"
        return format_html(
            '<a href="{}">{}</a>', reverse("backoffice_case", args=(record.user_id,)), record.user.external_id
        )

    @admin.display(description=_("detail"))
    def detail_text(self, record: AccessRecord) -> str:
        """The page that was opened, or what was claimed or exported."""
        return record.detail_text
