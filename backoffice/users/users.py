"""The list of all users."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import RelatedDropdownFilter

from backoffice.users.case_actions import STATUS_ORDER, CaseActionsAdmin
from backoffice.users.user_filters import CountryFilter, ModeFilter, RiskFlagsFilter, StatusFilter
from users.models import User


@admin.register(User)
class UserAdmin(CaseActionsAdmin):
    """Users of every status."""

    list_display = ("user", "partner_name", "status_badge", "waiting", "created_at")
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

    def index_orders(self, request: HttpRequest) -> Mapping[str, tuple[str, ...]]:
        """By status, and by the time in it; among users of one status also by that order."""
        columns = ("status_badge", "waiting") if request.GET.get("status__exact") else ("status_badge",)
        return dict.fromkeys(columns, self.ordering)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """Lead to the case, a user's only page. Raises PermissionDenied and Http404."""
        if request.method == "POST" or not self.has_view_permission(request):
            raise PermissionDenied
        try:
            return redirect("backoffice_case", UUID(object_id))
        except ValueError:
            raise Http404 from None
