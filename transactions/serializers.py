"""A conversion on the wire."""

from typing import Any

from rest_framework.serializers import BaseSerializer

from transactions.queries import ConversionRow


class ConversionSerializer(BaseSerializer[ConversionRow]):
    """Shows a conversion: contract, section 9. A row is text already and is only named here."""

    def to_representation(self, instance: ConversionRow) -> dict[str, Any]:
        """The item of the transactions list."""
        return {
            "conversionId": instance.conversion_id,
            "createdAt": instance.created_at,
            "type": instance.type,
            "from": {"currency": instance.from_currency, "amount": instance.from_amount},
            "to": {"currency": instance.to_currency, "amount": instance.to_amount},
            "rate": instance.rate,
        }
