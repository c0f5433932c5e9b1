"""A model field for decimals that keep their digits."""

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import models

if TYPE_CHECKING:
    _Field = models.Field[Decimal | str, Decimal]
else:  # Django's own class takes no parameters
    _Field = models.Field


class NumericField(_Field):
    """PostgreSQL's numeric without a scale: `100.00` stays `100.00`, which numeric(38,18) would pad."""

    description = "Decimal number with the digits as recorded"

    def db_type(self, connection: Any) -> str:
        """The column's type."""
        return "numeric"

    def get_internal_type(self) -> str:
        """No type of Django's."""
        return "NumericField"

    def to_python(self, value: Any) -> Decimal | None:
        """A Decimal with the digits of `value`. Raises ValidationError."""
        if value is None or isinstance(value, Decimal):
            return value
        try:
            return Decimal(str(value))
        except InvalidOperation as error:
            raise ValidationError("Not a decimal number.") from error


@NumericField.register_lookup
class Scale(models.Transform):
    """The number of digits after the point."""

    lookup_name = "scale"
    function = "scale"
    output_field = models.IntegerField()
