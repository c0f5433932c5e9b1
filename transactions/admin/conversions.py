"""The back office of conversions: looked at, never changed."""

from django.contrib import admin
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from partners.admin.base import ReadOnlyAdmin
from partners.models import Partner
from transactions.admin.base import ListOfUsers
from transactions.models import Conversion
from users.services.search import MAX_MATCHES


@admin.register(Conversion)
class ConversionAdmin(ListOfUsers, ReadOnlyAdmin):
    """Conversions, newest first: a user's by when they were made, all by when they were recorded."""

    list_display = ("conversion_id", "created_at", "partner", "external_id", "from_what", "to_what", "exact_rate")
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

    def matching(self, term: str) -> Q:
        """By conversionId, whose index begins with the partner."""
        found = Conversion.objects.filter(partner__in=Partner.objects.order_by().values("pk"), conversion_id=term)
        return Q(pk__in=list(found.order_by().values_list("pk", flat=True)[:MAX_MATCHES]))

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
