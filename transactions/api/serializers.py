"""A conversion, a document, and a page of each, on the wire."""

from typing import Any, TypeVar

from rest_framework import serializers

from partners.api.serializers import InstantField
from partners.db.statements import rfc_3339_from_text
from transactions.documents.file_types import ENDINGS
from transactions.models import TITLE_LENGTH, DocumentType
from transactions.positions import HIGHEST_LIMIT, TIEBREAK_DIGITS
from transactions.queries import ConversionRow, DocumentRow
from users.api.serializer_fields import ExternalIdField
from users.api.serializers import USER_ID_HELP

CURSOR = rf"^\d{{4}}-\d{{2}}-\d{{2}}T\d{{2}}:\d{{2}}:\d{{2}}\.\d{{{6 + TIEBREAK_DIGITS}}}Z$"
AMOUNT = r"^(0|[1-9]\d{0,19})(\.\d{1,18})?$"

Row = TypeVar("Row")


class RowSerializer(serializers.Serializer[Row]):
    """Shows the rows of a list; it takes no data. The fields that a subclass declares are for the OpenAPI document."""

    @classmethod
    def many_init(cls, rows: list[Row], **_: Any) -> "RowListSerializer":  # type: ignore[override]
        """What `many=True` makes. DRF's own keeps a child with fields and errors: 60 µs, for rows that have none."""
        return RowListSerializer(cls.items(rows))

    @classmethod
    def items(cls, rows: list[Row]) -> list[dict[str, Any]]:
        """The items of all rows."""
        serializer = cls()
        return [serializer.to_representation(row) for row in rows]


class RowListSerializer:
    """The items of a list: DRF's `data`."""

    def __init__(self, data: list[dict[str, Any]]) -> None:
        """data: the items."""
        self.data = data


class MoneySerializer(serializers.Serializer[Any]):
    """An amount of a currency."""

    currency = serializers.RegexField("^[A-Z0-9]{3,10}$", help_text="A currency code.")
    amount = serializers.RegexField(AMOUNT, help_text="Plain decimal notation, the digits as recorded.")


class ConversionSerializer(RowSerializer[ConversionRow]):
    """A conversion from one currency to another."""

    # Contract, section 9. A row is text already, and only gets names here.
    conversionId = serializers.RegexField("^[A-Za-z0-9_.-]{1,64}$")
    createdAt = InstantField(help_text="When it was made.")
    type = serializers.ChoiceField(["conversion"])
    from_ = MoneySerializer()
    to = MoneySerializer()
    rate = serializers.RegexField(AMOUNT, help_text="Above zero, in plain decimal notation, the digits as recorded.")

    def get_fields(self) -> dict[str, Any]:
        """The declared fields; `from`, a keyword of Python, can be the name of none."""
        return {name.removesuffix("_"): field for name, field in super().get_fields().items()}

    def to_representation(self, instance: ConversionRow) -> dict[str, Any]:
        """The item of the transactions list."""
        return self.items([instance])[0]

    @classmethod
    def items(cls, rows: list[ConversionRow]) -> list[dict[str, Any]]:
        """The items of all rows at once: a call for each would cost as much as the item."""
        return [
            {
                "conversionId": conversion_id,
                "createdAt": f"{at[:10]}T{at[11:19]}.{at[20:-3]:0<6}Z",  # statements.rfc_3339_from_text
                "type": kind,
                "from": {"currency": from_currency, "amount": from_amount},
                "to": {"currency": to_currency, "amount": to_amount},
                "rate": rate,
            }
            for _, at, _, conversion_id, kind, from_currency, from_amount, to_currency, to_amount, rate in rows
        ]


class DocumentSerializer(RowSerializer[DocumentRow]):
    """A document issued to the user."""

    # Contract, section 7.
    documentId = serializers.UUIDField()
    createdAt = InstantField(help_text="When it was issued.")
    type = serializers.ChoiceField(DocumentType.values)
    title = serializers.CharField(min_length=1, max_length=TITLE_LENGTH)
    contentType = serializers.ChoiceField(list(ENDINGS))
    sizeBytes = serializers.IntegerField(min_value=1)
    sha256 = serializers.RegexField(
        "^[0-9a-f]{64}$", help_text="Lower-case hex: compare it with what you have downloaded."
    )

    def to_representation(self, instance: DocumentRow) -> dict[str, Any]:
        """The item of the documents list."""
        return {
            "documentId": instance.document_id,
            "createdAt": rfc_3339_from_text(instance.created_at),
            "type": instance.type,
            "title": instance.title,
            "contentType": instance.content_type,
            "sizeBytes": int(instance.size_bytes),
            "sha256": instance.sha256,
        }


class PageSerializer(serializers.Serializer[Any]):
    """A page of a user's list."""

    # Contract, section 6. CursorPagination writes it.
    externalId = ExternalIdField()
    userId = serializers.UUIDField(help_text=USER_ID_HELP)
    nextCursor = serializers.RegexField(
        CURSOR,
        allow_null=True,
        help_text="Where the next page begins: text to be sent back unchanged; null at the end.",
    )


class ConversionPageSerializer(PageSerializer):
    """A page of a user's conversions."""

    items = serializers.ListField(child=ConversionSerializer(), max_length=HIGHEST_LIMIT)


class DocumentPageSerializer(PageSerializer):
    """A page of a user's documents."""

    items = serializers.ListField(child=DocumentSerializer(), max_length=HIGHEST_LIMIT)
