"""A conversion, and a document, on the wire."""

from typing import Any, TypeVar

from rest_framework.serializers import BaseSerializer

from partners.sql import rfc_3339
from transactions.queries import ConversionRow, DocumentRow

Row = TypeVar("Row")


class RowSerializer(BaseSerializer[Row]):
    """Shows the rows of a list; it takes no data."""

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


class ConversionSerializer(RowSerializer[ConversionRow]):
    """Shows a conversion: contract, section 9. A row is text already and is only named here."""

    def to_representation(self, instance: ConversionRow) -> dict[str, Any]:
        """The item of the transactions list."""
        return self.items([instance])[0]

    @classmethod
    def items(cls, rows: list[ConversionRow]) -> list[dict[str, Any]]:
        """The items of all rows at once: a call for each would cost as much as the item."""
        return [
            {
                "conversionId": conversion_id,
                "createdAt": f"{at[:10]}T{at[11:19]}.{at[20:-3]:0<6}Z",  # sql.rfc_3339
                "type": kind,
                "from": {"currency": from_currency, "amount": from_amount},
                "to": {"currency": to_currency, "amount": to_amount},
                "rate": rate,
            }
            for _, at, _, conversion_id, kind, from_currency, from_amount, to_currency, to_amount, rate in rows
        ]


class DocumentSerializer(RowSerializer[DocumentRow]):
    """Shows a document: contract, section 7."""

    def to_representation(self, instance: DocumentRow) -> dict[str, Any]:
        """The item of the documents list."""
        return {
            "documentId": instance.document_id,
            "createdAt": rfc_3339(instance.created_at),
            "type": instance.type,
            "title": instance.title,
            "contentType": instance.content_type,
            "sizeBytes": int(instance.size_bytes),
            "sha256": instance.sha256,
        }
