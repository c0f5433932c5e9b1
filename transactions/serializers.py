"""A conversion, and a document, on the wire."""

from typing import Any

from rest_framework.serializers import BaseSerializer

from transactions.document_queries import DocumentRow
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


class DocumentSerializer(BaseSerializer[DocumentRow]):
    """Shows a document: contract, section 7."""

    def to_representation(self, instance: DocumentRow) -> dict[str, Any]:
        """The item of the documents list."""
        return {
            "documentId": instance.document_id,
            "createdAt": instance.created_at,
            "type": instance.type,
            "title": instance.title,
            "contentType": instance.content_type,
            "sizeBytes": instance.size_bytes,
            "sha256": instance.sha256,
        }
