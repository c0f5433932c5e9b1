"""Conversions, documents and their pages on the wire."""

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.fields import empty

from partners.api.pagination import MAX_LIMIT
from partners.api.serializers import InstantField, RowSerializer, StrictSerializer
from transactions import patterns
from transactions.documents.file_types import EXTENSIONS
from transactions.imports import lines
from transactions.imports.lines import LineProblem
from transactions.keyset import CURSOR, ConversionRow, DocumentRow
from transactions.models import TITLE_LENGTH, DocumentType
from users.api.serializer_fields import ChoiceField, ExternalIdField, RuleField, TextField
from users.api.serializers import USER_ID_HELP

# A simulated import has at most so many items.
MAX_ITEMS = 100
AMOUNT = f"^{patterns.DECIMAL}$"
CURRENCY = f"^{patterns.CURRENCY}$"
CONVERSION_ID = f"^{patterns.CONVERSION_ID}$"


class MoneySerializer(serializers.Serializer[Any]):
    """An amount in a currency."""

    currency = serializers.RegexField(CURRENCY, help_text="A currency code.")
    amount = serializers.RegexField(AMOUNT, help_text="Plain decimal notation, the digits as recorded.")


class ConversionSerializer(RowSerializer[ConversionRow]):
    """A conversion from one currency to another."""

    conversionId = serializers.RegexField(CONVERSION_ID, source="conversion_id")
    createdAt = InstantField(source="created_at", help_text="When the conversion was made.")
    type = serializers.ChoiceField(["conversion"])
    from_ = MoneySerializer()
    to = MoneySerializer()
    rate = serializers.RegexField(
        AMOUNT, help_text="More than zero, in plain decimal notation, the digits as recorded."
    )

    def get_fields(self) -> dict[str, Any]:
        """The declared fields, `from_` under its name on the wire."""
        return {name.removesuffix("_"): field for name, field in super().get_fields().items()}


class DocumentSerializer(RowSerializer[DocumentRow]):
    """A document issued to the user."""

    documentId = serializers.UUIDField(source="document_id")
    createdAt = InstantField(source="created_at", help_text="When the document was issued.")
    type = serializers.ChoiceField(DocumentType.values)
    title = serializers.CharField(min_length=1, max_length=TITLE_LENGTH)
    contentType = serializers.ChoiceField(list(EXTENSIONS), source="content_type")
    sizeBytes = serializers.IntegerField(source="size_bytes", min_value=1)
    sha256 = serializers.RegexField("^[0-9a-f]{64}$", help_text="Lower-case hex, to verify the download.")


class PageSerializer(serializers.Serializer[Any]):
    """A page of a user's list."""

    # CursorPagination writes it.
    externalId = ExternalIdField()
    userId = serializers.UUIDField(help_text=USER_ID_HELP)
    nextCursor = serializers.RegexField(
        CURSOR.pattern,
        allow_null=True,
        help_text="The cursor of the next page, to be sent back unchanged; null on the last page.",
    )


class ConversionPageSerializer(PageSerializer):
    """A page of a user's conversions."""

    items = serializers.ListField(child=ConversionSerializer(), max_length=MAX_LIMIT)


class DocumentPageSerializer(PageSerializer):
    """A page of a user's documents."""

    items = serializers.ListField(child=DocumentSerializer(), max_length=MAX_LIMIT)


class EventDataSerializer(serializers.Serializer[Any]):
    """What the data of every event has. Triggers write it (transactions/models.py)."""

    externalId = ExternalIdField()
    userId = serializers.UUIDField(help_text=USER_ID_HELP)


class RecordedTransactionsSerializer(EventDataSerializer):
    """How many conversions of a user were recorded at once, and of which time."""

    count = serializers.IntegerField(min_value=1, help_text="The number of conversions recorded.")
    oldestCreatedAt = InstantField(
        help_text="The earliest createdAt among them, which may be older than conversions that you have read."
    )
    newestCreatedAt = InstantField(help_text="The latest createdAt among them.")


class PublishedDocumentSerializer(EventDataSerializer):
    """The document that was issued to a user."""

    documentId = serializers.UUIDField()
    type = serializers.ChoiceField(DocumentType.values)
    createdAt = InstantField(help_text="When the document was issued.")


class WithdrawnDocumentSerializer(EventDataSerializer):
    """The document that a user no longer has: it was published by mistake."""

    documentId = serializers.UUIDField()


class LineField(RuleField):
    """A value under the rule of an import's line (transactions/imports/lines.py), which stays as it was sent."""

    def run_validation(self, data: Any = empty) -> Any:
        """Apply the rule to null too; DRF would not."""
        if data is empty:
            return super().run_validation(data)
        try:
            self.rule(data)
        except LineProblem as error:
            message = f"{error.problem[:1].upper()}{error.problem[1:]}."
            raise serializers.ValidationError(message, error.code) from None
        return data


class SimulatedMoneySerializer(StrictSerializer[Any]):
    """An amount in a currency, to be recorded."""

    not_an_object = f"M{lines.NOT_A_SIDE[1:]}."

    currency = LineField(
        lines.text_rule(lines.CURRENCY),
        schema={"type": "string", "pattern": CURRENCY},
        help_text="A currency code.",
    )
    amount = LineField(
        lines.text_rule(lines.DECIMAL),
        schema={"type": "string", "pattern": AMOUNT},
        help_text="Plain decimal notation.",
    )


class SimulatedConversionSerializer(StrictSerializer[Any]):
    """A conversion to be recorded."""

    conversionId = LineField(
        lines.text_rule(lines.CONVERSION_ID),
        schema={"type": "string", "pattern": CONVERSION_ID},
        required=False,
        help_text="By default a new one.",
    )
    createdAt = LineField(
        lines.created_at_of,
        schema={"type": "string", "format": "date-time"},
        required=False,
        help_text="By default now. A past one is a late arrival.",
    )
    from_ = SimulatedMoneySerializer(error_messages={"null": SimulatedMoneySerializer.not_an_object})
    to = SimulatedMoneySerializer(error_messages={"null": SimulatedMoneySerializer.not_an_object})
    rate = LineField(
        lines.rate_of,
        schema={"type": "string", "pattern": AMOUNT},
        help_text="More than zero, in plain decimal notation.",
    )

    def get_fields(self) -> dict[str, Any]:
        """The declared fields, `from_` under its name on the wire."""
        return {name.removesuffix("_"): field for name, field in super().get_fields().items()}


class ItemsField(serializers.ListField):
    """A list of min_length to max_length items."""

    default_error_messages: ClassVar[dict[str, Any]] = {"null": "Must be a list."}

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            raise serializers.ValidationError("Must be a list.", "type")
        if not (self.min_length or 0) <= len(data) <= (self.max_length or len(data)):
            raise serializers.ValidationError(f"Must have {self.min_length} to {self.max_length} items.", "length")
        items: list[Any] = self.run_child_validation(data)
        return items


class SimulatedConversionsSerializer(StrictSerializer[Any]):
    """Conversions to be recorded, all or none."""

    items = ItemsField(
        child=SimulatedConversionSerializer(error_messages={"null": StrictSerializer.not_an_object}),
        min_length=1,
        max_length=MAX_ITEMS,
    )


class RecordedConversionsSerializer(serializers.Serializer[Any]):
    """The conversions as they are in the list."""

    items = serializers.ListField(child=ConversionSerializer(), max_length=MAX_ITEMS)


class SimulatedDocumentSerializer(StrictSerializer[Any]):
    """A document to be published."""

    type = ChoiceField(DocumentType, help_text="The type of the document.")
    title = TextField(max_length=TITLE_LENGTH, help_text="Also the name of the file.")
