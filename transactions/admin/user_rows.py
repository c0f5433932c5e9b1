"""The base of the lists of conversions and documents, which belong to users."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import RelatedDropdownFilter, TextFilter

from partners.admin.pages import ReadOnlyAdmin
from users.services.search import find_user_ids


class UserFilter(TextFilter):  # type: ignore[misc]
    """By the user's userId, externalId or email."""

    title, parameter_name = _("user"), "user"
    is_indexed = True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The rows of the users that match."""
        value = (self.value() or "").strip()
        return queryset.filter(user__in=find_user_ids(value)) if value else queryset


class UserRowsAdmin(ReadOnlyAdmin):
    """Rows newest first: those of a user by their own time, all by when they were recorded."""

    list_filter = (UserFilter, ("partner", RelatedDropdownFilter))
    list_select_related = ("partner", "user")

    @admin.display(description=_("externalId"))
    def external_id(self, row: Any) -> str:
        """The user's externalId."""
        return str(row.user.external_id)

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """The order of the index that serves the list."""
        return ("-created_at", "-tiebreak", "-id") if request.GET.get("user") else ("-id",)
