"""What the lists of conversions and of documents share: both show what belongs to users."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from partners.admin.base import GuardedAdmin, TextFilter
from users.services.search import find_user_ids


class UserFilter(TextFilter):
    """By the user's userId, externalId or email."""

    title = _("user")
    parameter_name = "user"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The user's rows."""
        value = (self.value() or "").strip()
        return queryset.filter(user__in=find_user_ids(value)) if value else queryset


class ListOfUsers(GuardedAdmin):
    """Rows newest first: a user's by their own time, all by when they were recorded."""

    list_filter = (UserFilter, "partner")
    list_select_related = ("partner", "user")

    @admin.display(description=_("externalId"))
    def external_id(self, row: Any) -> str:
        """The user's."""
        return str(row.user.external_id)

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """The order of the index that serves the list."""
        return ("-created_at", "-tiebreak", "-id") if request.GET.get("user") else ("-id",)

    def continuation_of(self, request: HttpRequest) -> tuple[str, str] | None:
        """As the order has it; rows of one instant may be shown twice, none is left out."""
        return ("created_at__lte", "created_at") if request.GET.get("user") else ("id__lt", "id")
