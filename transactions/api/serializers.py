"""The bodies that simulate conversions and documents, and their responses."""

from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

from partners.api.serializers import ChoiceField, ItemsField, RuleField, StrictSerializer, TextField
from transactions import imports
from transactions.models import TITLE_LENGTH, DocumentType

# A simulated import has at most so many items.
MAX_ITEMS = 100


class LineField(RuleField):
    """A value under the rule of an import's line (transactions/imports.py)."""

    def run_validation(self, data: Any = empty) -> Any:
        """Apply the rule to null too; DRF would not."""
        if data is empty:
            return super().run_validation(data)
        try:
            return self.rule(data)
        except imports.LineError as error:
            message = f"{error.problem[:1].upper()}{error.problem[1:]}."
            raise serializers.ValidationError(message, error.code) from None


class SimulatedMoneySerializer(StrictSerializer[Any]):
    """An amount in a currency, to be recorded."""

    not_an_object = f"M{imports.NOT_A_SIDE[1:]}."

    currency = LineField(imports.text_rule(imports.CURRENCY))
    amount = LineField(imports.text_rule(imports.DECIMAL))


class SimulatedConversionSerializer(StrictSerializer[Any]):
    """A conversion to be recorded."""

    conversionId = LineField(imports.text_rule(imports.CONVERSION_ID), required=False)
    createdAt = LineField(imports.created_at_of, required=False)
    from_ = SimulatedMoneySerializer(error_messages={"null": SimulatedMoneySerializer.not_an_object})
    to = SimulatedMoneySerializer(error_messages={"null": SimulatedMoneySerializer.not_an_object})
    rate = LineField(imports.rate_of)

    def get_fields(self) -> dict[str, Any]:
        """The declared fields, `from_` under its name on the wire."""
        return {name.removesuffix("_"): field for name, field in super().get_fields().items()}


class SimulatedConversionsSerializer(StrictSerializer[Any]):
    """Conversions to be recorded, all or none."""

    items = ItemsField(
        child=SimulatedConversionSerializer(error_messages={"null": StrictSerializer.not_an_object}),
        min_length=1,
        max_length=MAX_ITEMS,
    )


class SimulatedDocumentSerializer(StrictSerializer[Any]):
    """A document to be published."""

    type = ChoiceField(DocumentType)
    title = TextField(max_length=TITLE_LENGTH)
