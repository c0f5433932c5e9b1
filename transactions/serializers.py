"""A conversion, and a document, on the wire."""

from typing import Any

from rest_framework.serializers import BaseSerializer, ListSerializer

from partners.sql import rfc_3339
from transactions.queries import ConversionRow, DocumentRow


def _items(rows: list[ConversionRow]) -> list[dict[str, Any]]:
    """A row is text already and is only named here."""
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


class ConversionListSerializer(ListSerializer[list[ConversionRow]]):
    """All conversions of a page at once: a call for each would cost as much as the item."""

    def to_representation(self, data: Any) -> list[dict[str, Any]]:
        """The items."""
        return _items(data)


class ConversionSerializer(BaseSerializer[ConversionRow]):
    """Shows a conversion: contract, section 9."""

    class Meta:
        list_serializer_class = ConversionListSerializer

    def to_representation(self, instance: ConversionRow) -> dict[str, Any]:
        """The item of the transactions list."""
        return _items([instance])[0]


class DocumentSerializer(BaseSerializer[DocumentRow]):
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
