"""Conversions, documents and their pages on the wire."""

from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

from partners.api.pagination import MAX_LIMIT
from partners.api.rule_fields import ChoiceField, ItemsField, RuleField, TextField
from partners.api.serializers import InstantField, RowSerializer, StrictSerializer
from transactions import patterns
from transactions.documents.file_types import EXTENSIONS
from transactions.imports import lines
from transactions.imports.lines import LineProblem
from transactions.keyset import CURSOR, ConversionRow, DocumentRow
from transactions.models import TITLE_LENGTH, DocumentType
from users.api.serializer_fields import ExternalIdField
from users.api.serializers import USER_ID_HELP

# A simulated import has at most so many items.
MAX_ITEMS = 100
AMOUNT = f"^{patterns.DECIMAL}$"
CURRENCY = f"^{patterns.CURRENCY}$"
CONVERSION_ID = f"^{patterns.CONVERSION_ID}$"

CURRENCY_HELP = "The code of the currency: 3 to 10 upper-case letters or digits."
AMOUNT_HELP = (
    "The amount, zero or more, in plain decimal notation: no sign and no exponent, at most 20 digits before the point"
    " and 18 after it."
)
FROM_HELP = "What the user gave."
TO_HELP = "What the user got."
RATE_HELP = "The rate of the conversion: more than zero, in the notation of an amount."
CONVERSION_ID_HELP = "The identifier of the conversion, unique among yours: 1 to 64 of `A-Z a-z 0-9 - _ .`"
DOCUMENT_ID_HELP = "The service's identifier of the document, a UUID."
DOCUMENT_TYPE_HELP = "What kind of paper it is."


class MoneySerializer(serializers.Serializer[Any]):
    """An amount in a currency."""

    currency = serializers.RegexField(CURRENCY, help_text=CURRENCY_HELP)
    amount = serializers.RegexField(AMOUNT, help_text=f"{AMOUNT_HELP} The digits are those recorded.")


class ConversionSerializer(RowSerializer[ConversionRow]):
    """A conversion from one currency to another."""

    conversionId = serializers.RegexField(CONVERSION_ID, source="conversion_id", help_text=CONVERSION_ID_HELP)
    createdAt = InstantField(source="created_at", help_text="When the conversion was made.")
    type = serializers.ChoiceField(["conversion"], help_text="The kind of transaction.")
    from_ = MoneySerializer(help_text=FROM_HELP)
    to = MoneySerializer(help_text=TO_HELP)
    rate = serializers.RegexField(AMOUNT, help_text=RATE_HELP)

    def get_fields(self) -> dict[str, Any]:
        """The declared fields, `from_` under its name on the wire."""
        return {name.removesuffix("_"): field for name, field in super().get_fields().items()}


class DocumentSerializer(RowSerializer[DocumentRow]):
    """A document issued to the user."""

    documentId = serializers.UUIDField(source="document_id", help_text=DOCUMENT_ID_HELP)
    createdAt = InstantField(source="created_at", help_text="When the document was issued.")
    type = serializers.ChoiceField(DocumentType.values, help_text=DOCUMENT_TYPE_HELP)
    title = serializers.CharField(min_length=1, max_length=TITLE_LENGTH, help_text="The title, for people.")
    contentType = serializers.ChoiceField(
        list(EXTENSIONS), source="content_type", help_text="The media type of the file."
    )
    sizeBytes = serializers.IntegerField(source="size_bytes", min_value=1, help_text="The size of the file, in bytes.")
    sha256 = serializers.RegexField(
        "^[0-9a-f]{64}$", help_text="The file's SHA-256, 64 lower-case hex digits, to verify the download."
    )


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

    items = serializers.ListField(
        child=ConversionSerializer(), max_length=MAX_LIMIT, help_text="The conversions of this page, newest first."
    )


class DocumentPageSerializer(PageSerializer):
    """A page of a user's documents."""

    items = serializers.ListField(
        child=DocumentSerializer(), max_length=MAX_LIMIT, help_text="The documents of this page, newest first."
    )


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

    documentId = serializers.UUIDField(help_text=DOCUMENT_ID_HELP)
    type = serializers.ChoiceField(DocumentType.values, help_text=DOCUMENT_TYPE_HELP)
    createdAt = InstantField(help_text="When the document was issued.")


class WithdrawnDocumentSerializer(EventDataSerializer):
    """The document that a user no longer has: it was published by mistake."""

    documentId = serializers.UUIDField(help_text=DOCUMENT_ID_HELP)


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
        help_text=CURRENCY_HELP,
    )
    amount = LineField(
        lines.text_rule(lines.DECIMAL),
        schema={"type": "string", "pattern": AMOUNT},
        help_text=AMOUNT_HELP,
    )


class SimulatedConversionSerializer(StrictSerializer[Any]):
    """A conversion to be recorded."""

    conversionId = LineField(
        lines.text_rule(lines.CONVERSION_ID),
        schema={"type": "string", "pattern": CONVERSION_ID},
        required=False,
        help_text=f"{CONVERSION_ID_HELP} By default a new one.",
    )
    createdAt = LineField(
        lines.created_at_of,
        schema={"type": "string", "format": "date-time"},
        required=False,
        help_text="When the conversion was made, an RFC 3339 date-time. By default now; a past one is a late arrival.",
    )
    from_ = SimulatedMoneySerializer(
        error_messages={"null": SimulatedMoneySerializer.not_an_object}, help_text=FROM_HELP
    )
    to = SimulatedMoneySerializer(error_messages={"null": SimulatedMoneySerializer.not_an_object}, help_text=TO_HELP)
    rate = LineField(
        lines.rate_of,
        schema={"type": "string", "pattern": AMOUNT},
        help_text=RATE_HELP,
    )

    def get_fields(self) -> dict[str, Any]:
        """The declared fields, `from_` under its name on the wire."""
        return {name.removesuffix("_"): field for name, field in super().get_fields().items()}


class SimulatedConversionsSerializer(StrictSerializer[Any]):
    """Conversions to be recorded, all or none."""

    items = ItemsField(
        child=SimulatedConversionSerializer(error_messages={"null": StrictSerializer.not_an_object}),
        min_length=1,
        max_length=MAX_ITEMS,
        help_text="The conversions to be recorded.",
    )


class RecordedConversionsSerializer(serializers.Serializer[Any]):
    """The conversions as they are in the list."""

    items = serializers.ListField(
        child=ConversionSerializer(), max_length=MAX_ITEMS, help_text="The conversions, in the order sent."
    )


class SimulatedDocumentSerializer(StrictSerializer[Any]):
    """A document to be published."""

    type = ChoiceField(DocumentType, help_text=DOCUMENT_TYPE_HELP)
    title = TextField(max_length=TITLE_LENGTH, help_text="The title, for people; also the name of the file.")
