"""A conversion, and a document, on the wire."""

from typing import Any

from rest_framework.serializers import BaseSerializer

from partners.sql import rfc_3339
from transactions.document_queries import DocumentRow
from transactions.queries import ConversionRow


class ConversionSerializer(BaseSerializer[ConversionRow]):
    """Shows a conversion: contract, section 9. A row is text already and is only named here."""

    def to_representation(self, instance: ConversionRow) -> dict[str, Any]:
        """The item of the transactions list."""
        created_at, _, conversion_id, kind, from_currency, from_amount, to_currency, to_amount, rate, _ = instance
        return {
            "conversionId": conversion_id,
            "createdAt": rfc_3339(created_at),
            "type": kind,
            "from": {"currency": from_currency, "amount": from_amount},
            "to": {"currency": to_currency, "amount": to_amount},
            "rate": rate,
        }


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
