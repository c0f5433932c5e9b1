"""The admin of conversions, which is read-only."""

from django.contrib import admin
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from partners.models import Partner
from transactions.admin.user_rows import UserRowsAdmin
from transactions.models import Conversion
from users.services.search import MAX_MATCHES


@admin.register(Conversion)
class ConversionAdmin(UserRowsAdmin):
    """Conversions."""

    list_display = ("conversion_id", "created_at", "partner", "external_id", "sent", "received", "exact_rate")
    search_fields = ("conversion_id",)
    search_help_text = _("The whole of a conversionId.")
    fields = ("conversion_id", "partner", "user", "created_at", "type", "sent", "received", "exact_rate", "recorded_at")

    def matching(self, term: str) -> Q:
        """By conversionId, whose index begins with the partner."""
        matches = Conversion.objects.filter(partner__in=Partner.objects.order_by().values("pk"), conversion_id=term)
        return Q(pk__in=list(matches.order_by().values_list("pk", flat=True)[:MAX_MATCHES]))

    @admin.display(description=_("from"))
    def sent(self, conversion: Conversion) -> str:
        """Amount and currency, with the digits as recorded."""
        return f"{conversion.from_amount:f} {conversion.from_currency}"

    @admin.display(description=_("to"))
    def received(self, conversion: Conversion) -> str:
        """Amount and currency, with the digits as recorded."""
        return f"{conversion.to_amount:f} {conversion.to_currency}"

    @admin.display(description=_("rate"))
    def exact_rate(self, conversion: Conversion) -> str:
        """The digits as recorded."""
        return f"{conversion.rate:f}"
