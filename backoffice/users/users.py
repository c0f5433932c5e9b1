"""The admin of users: staff decide about them, their partner edits them."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import RelatedDropdownFilter
from unfold.decorators import action
from unfold.enums import ActionVariant

from backoffice.access import record_opening, staff_of
from backoffice.case.actions import USER_PAGE
from backoffice.case.page import header_context
from backoffice.list_urls import query_of
from backoffice.lists.pages import Table
from backoffice.users import history
from backoffice.users.case_actions import STATUS_ORDER, CaseActionsAdmin
from backoffice.users.user_filters import CountryFilter, ModeFilter, RiskFlagsFilter, StatusFilter
from users.models import Page, User
from users.models.columns import IDENTITY_COLUMNS, IDENTITY_PERMISSION, PROFILE_COLUMNS
from users.profile.labels import LABELS, display_birth_date, display_value

# Columns in words: the birth date with the age; yes and no.
_IN_WORDS = {"date_of_birth": "born", "is_ciro_affiliate": "ciro_affiliate"}
_PROFILE = tuple(_IN_WORDS.get(column, column) for column in PROFILE_COLUMNS)


@admin.register(User)
class UserAdmin(CaseActionsAdmin):
    """Users; nothing is edited. Decisions are made by the forms of the case page."""

    list_display = ("name", "external_id", "partner_name", "status_badge", "waiting", "created_at")
    list_filter = (
        ("status", StatusFilter),
        RiskFlagsFilter,
        ("partner", RelatedDropdownFilter),
        CountryFilter,
        ModeFilter,
    )
    list_select_related = ("partner",)
    list_before_template = "admin/users/user/statuses.html"
    # The order of the index user_by_status.
    ordering = ("status", *STATUS_ORDER)
    order_note = _("by status, in each the longest first")
    fieldsets = (
        (None, {"fields": ("id", "external_id", "partner", "status", "status_since", "created_at", "updated_at")}),
        (_("Profile"), {"fields": _PROFILE}),
    )
    actions_detail = ("open_case",)
    change_form_template = "admin/users/user/change_form.html"

    def index_orders(self, request: HttpRequest) -> Mapping[str, tuple[str, ...]]:
        """By status, and by the time in it; among users of one status also by that time."""
        columns = ("status_badge", "waiting") if request.GET.get("status__exact") else ("status_badge",)
        return dict.fromkeys(columns, self.ordering)

    def tables_of(self, request: HttpRequest, obj: User) -> Iterator[Table]:
        """Decisions and the profile history."""
        if request.user.has_perm("users.view_statuschange"):
            yield history.status_changes(obj)
        if request.user.has_perm("users.view_userevent"):
            yield history.events(obj, sees_identity=request.user.has_perm(IDENTITY_PERMISSION))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Without birth date and address for those who may not see them."""
        general, (title, _options) = self.fieldsets
        hidden = set() if request.user.has_perm(IDENTITY_PERMISSION) else {*IDENTITY_COLUMNS, "born"}
        return (general, (title, {"fields": [column for column in _PROFILE if column not in hidden]}))

    @action(  # type: ignore[untyped-decorator]
        description=_("Open the case"),
        permissions=["view"],
        url_path="case",
        icon="assignment_ind",
        variant=ActionVariant.PRIMARY,
    )
    def open_case(self, _request: HttpRequest, object_id: str) -> HttpResponse:
        """Redirect to the case page. Raises Http404."""
        try:
            return redirect("backoffice_case", UUID(object_id))
        except ValueError:
            raise Http404 from None

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        """Django's page below the header of the case page; opening it is recorded in the access log."""
        user = kwargs["obj"]
        record_opening(request, user, Page.USER)
        context |= header_context(user, staff_of(request)) | {
            # The window's title has nothing personal.
            "title": _("User %(id)s") % {"id": str(user.pk)[:8]},
            "subtitle": None,
            "page_name": user.full_name,
            # The page that a decision returns to.
            "decided_on": USER_PAGE,
            "links_to_case": True,
        }
        return super().render_change_form(request, context, **kwargs)

    def has_history_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("users.view_userevent")

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Redirect to the user's profile history: the audit log has no edits by partners.

        Raises PermissionDenied and Http404.
        """
        if not self.has_history_permission(request):
            raise PermissionDenied
        user = self.get_object_or_404(request, object_id)
        return redirect(reverse("admin:users_userevent_changelist", query={"q": user.pk} | query_of(user)))

    @admin.display(description=_("name"))
    def name(self, user: User) -> str:
        return user.full_name

    @admin.display(description=_("date of birth"))
    def born(self, user: User) -> str:
        return display_birth_date(user.date_of_birth)

    @admin.display(description=LABELS["is_ciro_affiliate"])
    def ciro_affiliate(self, user: User) -> str:
        return display_value("is_ciro_affiliate", user.is_ciro_affiliate)
