"""Conversions and documents that sandbox partners simulate: contract, section 11."""

import io
from functools import cached_property
from typing import Any

import structlog
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers

from partners.api.errors import ConflictError, UnavailableError, invalid_parameter
from partners.api.request import PartnerRequest
from partners.api.schema import error_responses, success
from partners.rfc_3339 import format_timestamp
from sandbox.simulations.conversions import OTHER_CONTENT, simulate_conversions
from sandbox.simulations.status import SandboxUserView
from transactions.api import schema
from transactions.api.serializers import (
    DocumentSerializer,
    RecordedConversionsSerializer,
    SimulatedConversionsSerializer,
    SimulatedDocumentSerializer,
)
from transactions.documents.pdf import pdf
from transactions.documents.publishing import StorageError, discard, publish
from transactions.keyset import ConversionRow
from transactions.models import Document
from users.api.schema import USER_WRITE_ERRORS, USER_WRITE_PARAMETERS

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

    @extend_schema(
        operation_id="simulateTransactions",
        tags=["Sandbox"],
        summary="Simulate conversions",
        description="Records conversions of a user as an import would, with its event. For sandbox partners only.",
        parameters=USER_WRITE_PARAMETERS,
        examples=[
            OpenApiExample("A conversion", value={"items": [schema.SIMULATED_CONVERSION]}, request_only=True),
            OpenApiExample("A late arrival", value={"items": [schema.LATE_CONVERSION]}, request_only=True),
        ],
        responses={
            201: success(RecordedConversionsSerializer, "The conversions.", {"items": [schema.CONVERSION]}),
            **error_responses(
                *USER_WRITE_ERRORS,
                invalid_parameter("items[0].from.amount", "Must be a plain decimal string."),
                ConflictError(OTHER_CONTENT),
                writes=True,
            ),
        },
    )
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

    @extend_schema(
        operation_id="simulateDocument",
        tags=["Sandbox"],
        summary="Simulate a document",
        description="Publishes a PDF of one page that says SAMPLE, with its event. For sandbox partners only.",
        parameters=USER_WRITE_PARAMETERS,
        examples=[
            OpenApiExample("A statement", value={"type": "accountStatement", "title": "January"}, request_only=True)
        ],
        responses={
            201: success(DocumentSerializer, "The document.", schema.DOCUMENT),
            **error_responses(*USER_WRITE_ERRORS, writes=True),
        },
    )
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
