"""Conversions and documents that sandbox partners simulate: contract, section 11."""

import io
from functools import cached_property

import structlog
from django.http import HttpResponse
from orjson import Fragment
from rest_framework import serializers

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
from transactions.models import Document
from transactions.queries import document_item

log = structlog.get_logger("sandbox.simulations.transactions")


class PublishedDocumentSerializer(serializers.BaseSerializer[Document]):
    """A new document as it is in the list."""

    def to_representation(self, instance: Document) -> Fragment:
        """Its JSON."""
        return Fragment(document_item(instance))


class SimulatedTransactions(SandboxUserView):
    """/v1/sandbox/users/{externalId}/transactions."""

    serializer_class = SimulatedConversionsSerializer
    response_serializer_class = RecordedConversionsSerializer
    success_status = 201

    def post(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        return self.write()

    def perform(self, external_id: str) -> list[str]:
        """Record the conversions. Raises BadRequestError, NotFoundError, RefusedError."""
        user = self.get_user(external_id)
        items = self.validated().validated_data["items"]
        return simulate_conversions(user=user, slug=self.request.user.partner_slug, items=items)


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
