"""The back office of conversions: looked at, never changed."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from partners.admin_base import ReadOnlyAdmin, TextFilter
from partners.models import Partner
from transactions.models import Conversion
from users.search import FOUND_AT_MOST, find_user_ids


class UserFilter(TextFilter):
    """By the user's userId, externalId or email."""

    title = _("user")
    parameter_name = "user"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The user's conversions."""
        value = (self.value() or "").strip()
        return queryset.filter(user__in=find_user_ids(value)) if value else queryset


@admin.register(Conversion)
class ConversionAdmin(ReadOnlyAdmin):
    """Conversions, newest first: a user's by when they were made, all by when they were recorded."""

    list_display = ("conversion_id", "created_at", "partner", "user__external_id", "from_what", "to_what", "exact_rate")
    list_filter = (UserFilter, "partner")
    list_select_related = ("partner", "user")
    search_fields = ("conversion_id",)
    search_help_text = _("The whole of a conversionId.")
    fields = (
        "conversion_id",
        "partner",
        "user",
        "created_at",
        "type",
        "from_what",
        "to_what",
        "exact_rate",
        "recorded_at",
    )

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """The order of the index that serves the list."""
        return ("-created_at", "-tiebreak", "-id") if request.GET.get("user") else ("-id",)

    def continuation_of(self, request: HttpRequest) -> tuple[str, str] | None:
        """As the order has it; conversions of one instant may be shown twice, none is left out."""
        return ("created_at__lte", "created_at") if request.GET.get("user") else ("id__lt", "id")

    def matching(self, term: str) -> Q:
        """By conversionId, whose index begins with the partner."""
        found = Conversion.objects.filter(partner__in=Partner.objects.order_by().values("pk"), conversion_id=term)
        return Q(pk__in=list(found.order_by().values_list("pk", flat=True)[:FOUND_AT_MOST]))

    @admin.display(description=_("from"))
    def from_what(self, conversion: Conversion) -> str:
        """Amount and currency, the digits as recorded."""
        return f"{conversion.from_amount:f} {conversion.from_currency}"

    @admin.display(description=_("to"))
    def to_what(self, conversion: Conversion) -> str:
        """Amount and currency, the digits as recorded."""
        return f"{conversion.to_amount:f} {conversion.to_currency}"

    @admin.display(description=_("rate"))
    def exact_rate(self, conversion: Conversion) -> str:
        """The digits as recorded."""
        return f"{conversion.rate:f}"
