"""Conversions and documents that sandbox partners simulate: contract, section 11."""

import io
from functools import cached_property
from typing import Any

import structlog
from django.http import HttpResponse
from rest_framework import serializers

from core.formats.rfc_3339 import format_timestamp
from partners.api.errors import UnavailableError
from partners.api.request import PartnerRequest
from sandbox.simulations.conversions import simulate_conversions
from sandbox.simulations.status import SandboxUserView
from transactions.api.serializers import (
    RecordedConversionsSerializer,
    SimulatedConversionsSerializer,
    SimulatedDocumentSerializer,
)
from transactions.documents.pdf import pdf
from transactions.documents.publishing import StorageError, discard, publish
from transactions.keyset import ConversionRow
from transactions.models import Document

log = structlog.get_logger("sandbox.simulations.transactions")


class PublishedDocumentSerializer(serializers.BaseSerializer[Document]):
    """A new document, as DocumentSerializer shows rows of lists."""

    def to_representation(self, instance: Document) -> dict[str, Any]:
        """The document on the wire."""
        return {
            "documentId": str(instance.document_id),
            "createdAt": format_timestamp(instance.created_at),
            "type": instance.type,
            "title": instance.title,
            "contentType": instance.content_type,
            "sizeBytes": instance.size_bytes,
            "sha256": bytes(instance.sha256).hex(),
        }


class SimulatedTransactions(SandboxUserView):
    """/v1/sandbox/users/{externalId}/transactions."""

    serializer_class = SimulatedConversionsSerializer
    response_serializer_class = RecordedConversionsSerializer
    success_status = 201

    def post(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        return self.write()

    def perform(self, external_id: str) -> dict[str, list[ConversionRow]]:
        """Record the conversions. Raises BadRequestError, NotFoundError, RefusedError."""
        user = self.get_user(external_id)
        items = self.validated().validated_data["items"]
        return {"items": simulate_conversions(user=user, slug=self.request.user.partner_slug, items=items)}


class SimulatedDocuments(SandboxUserView):
    """/v1/sandbox/users/{externalId}/documents."""

    serializer_class = SimulatedDocumentSerializer
    response_serializer_class = PublishedDocumentSerializer
    success_status = 201

    def post(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        try:
            response = self.write()
        except StorageError:
            log.exception("document could not be stored")
            # Those of earlier attempts.
            _discard(self.published)
            raise UnavailableError from None
        except BaseException as error:
            _discard(self.published, error)
            raise
        # Those before it were rolled back, for a deadlock.
        _discard(self.published[:-1])
        return response

    def perform(self, external_id: str) -> Document:
        """Publish the sample. Raises BadRequestError, NotFoundError, StorageError."""
        user = self.get_user(external_id)
        body = self.validated().validated_data
        document = publish(
            user=user,
            source=io.BytesIO(pdf(("SAMPLE", "", "A document of the sandbox, not a real one."))),
            kind=body["type"],
            title=body["title"],
            content_type="application/pdf",
        )
        self.published.append(document)
        return document

    @cached_property
    def published(self) -> list[Document]:
        """The documents that `perform` has published, one an attempt."""
        return []


def _discard(documents: list[Document], error: BaseException | None = None) -> None:
    """Delete the files of documents that were rolled back, as far as the error says so of the last one."""
    for document in documents:
        discard(document, error if document is documents[-1] else None)
