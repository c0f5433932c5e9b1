"""Conversions: contract, section 6."""

from datetime import UTC, datetime
from decimal import Decimal

from django.db import models
from django.db.models import Func, Q
from django.db.models.functions import Now

from partners.models import Partner
from partners.triggers import append_only
from transactions.fields import NumericField
from users.models import User

HIGHEST = 10**20
MOST_DECIMALS = 18


@NumericField.register_lookup
class Scale(models.Transform):
    """How many digits a numeric has after its point."""

    lookup_name = "scale"
    function = "scale"
    output_field = models.IntegerField()


def _plain_decimal(name: str, *, above_zero: bool = False) -> Q:
    # The upper bound keeps NaN and infinity out too: to PostgreSQL they are greater than any number.
    lowest = Q(**{f"{name}__gt" if above_zero else f"{name}__gte": Decimal(0)})
    return lowest & Q(**{f"{name}__lt": Decimal(HIGHEST), f"{name}__scale__lte": MOST_DECIMALS})


class Conversion(models.Model):
    """A currency conversion made by a user. Written once, by an import; never changed."""

    # One foreign key on both (conversion_user_of_partner, in the migration) stands for a constraint on each.
    partner = models.ForeignKey(Partner, models.PROTECT, related_name="+", db_index=False, db_constraint=False)
    user = models.ForeignKey(User, models.PROTECT, related_name="conversions", db_index=False, db_constraint=False)
    conversion_id = models.CharField("conversionId", max_length=64)
    created_at = models.DateTimeField(help_text="When the conversion was made.")
    # Random: it orders conversions of one instant, stands in cursors, and so must tell nothing.
    tiebreak = models.BigIntegerField(
        db_default=Func(template="(random() * 9223372036854775000)::bigint", output_field=models.BigIntegerField())
    )
    type = models.CharField(max_length=20, db_default="conversion")
    from_currency = models.CharField(max_length=10)
    from_amount = NumericField()
    to_currency = models.CharField(max_length=10)
    to_amount = NumericField()
    rate = NumericField()
    recorded_at = models.DateTimeField(db_default=Now(), editable=False)

    serving_privileges = ("SELECT", "INSERT")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("partner", "conversion_id"), name="conversion_partner_id"),
            # Also the list's index: an instant and a tiebreak name one conversion of a user.
            models.UniqueConstraint(fields=("user", "created_at", "tiebreak"), name="conversion_page"),
            models.CheckConstraint(
                condition=Q(conversion_id__regex=r"^[A-Za-z0-9_.-]+$"), name="conversion_id_characters"
            ),
            models.CheckConstraint(condition=Q(type="conversion"), name="conversion_type_known"),
            models.CheckConstraint(
                condition=Q(from_currency__regex=r"^[A-Z0-9]{3,10}$") & Q(to_currency__regex=r"^[A-Z0-9]{3,10}$"),
                name="conversion_currencies",
            ),
            models.CheckConstraint(
                condition=_plain_decimal("from_amount")
                & _plain_decimal("to_amount")
                & _plain_decimal("rate", above_zero=True),
                name="conversion_numbers",
            ),
            models.CheckConstraint(condition=Q(tiebreak__gte=0), name="conversion_tiebreak_positive"),
            # What RFC 3339 can write: PostgreSQL also has years before 1 and after 9999, and infinity.
            models.CheckConstraint(
                condition=Q(created_at__gte=datetime(1, 1, 1, tzinfo=UTC))
                & Q(created_at__lt=datetime(9999, 12, 31, tzinfo=UTC)),
                name="conversion_created_at_written",
            ),
        )
        triggers = append_only()

    def __str__(self) -> str:
        return self.conversion_id
