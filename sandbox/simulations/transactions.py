"""Conversions and documents that sandbox partners simulate: contract, section 11."""

import io
from typing import Any

import structlog
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiExample, extend_schema

from partners.api.errors import ConflictError, UnavailableError, invalid_parameter
from partners.api.idempotency import StoredResponse
from partners.api.request import PartnerRequest
from partners.api.schema import error_responses, success
from partners.rfc_3339 import format_timestamp
from sandbox.simulations.conversions import OtherContentError, simulate_conversions
from sandbox.simulations.status import SandboxUserView
from transactions.api import schema
from transactions.api.serializers import (
    ConversionSerializer,
    DocumentSerializer,
    RecordedConversionsSerializer,
    SimulatedConversionsSerializer,
    SimulatedDocumentSerializer,
)
from transactions.documents.pdf import pdf
from transactions.documents.publishing import StorageError, discard, publish
from transactions.models import Document
from users.api.schema import USER_WRITE_ERRORS, USER_WRITE_PARAMETERS

log = structlog.get_logger("sandbox.simulations.transactions")

OTHER_CONTENT = "A conversion with this conversionId and other content exists."


class SimulatedTransactions(SandboxUserView):
    """/v1/sandbox/users/{externalId}/transactions."""

    serializer_class = SimulatedConversionsSerializer

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
        def record() -> StoredResponse:
            user = self.get_user(external_id)
            serializer = self.serializer_class(data=request.data)
            serializer.is_valid(raise_exception=True)
            items, slug = serializer.validated_data["items"], request.user.partner_slug
            try:
                rows = simulate_conversions(user=user, slug=slug, items=items)
            except OtherContentError as error:
                raise ConflictError(f"items[{error.index}]: {OTHER_CONTENT}") from None
            return StoredResponse(201, self.renderer.render({"items": ConversionSerializer.items(rows)}))

        return self.write(record)


class SimulatedDocuments(SandboxUserView):
    """/v1/sandbox/users/{externalId}/documents."""

    serializer_class = SimulatedDocumentSerializer

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
        published: list[Document] = []

        def publish_sample() -> StoredResponse:
            user = self.get_user(external_id)
            serializer = self.serializer_class(data=request.data)
            serializer.is_valid(raise_exception=True)
            document = publish(
                user=user,
                source=io.BytesIO(pdf(("SAMPLE", "", "A document of the sandbox, not a real one."))),
                kind=serializer.validated_data["type"],
                title=serializer.validated_data["title"],
                content_type="application/pdf",
            )
            published.append(document)
            return StoredResponse(201, self.renderer.render(_item(document)))

        try:
            response = self.write(publish_sample)
        except StorageError:
            log.exception("document could not be stored")
            # Those of earlier attempts.
            _discard(published)
            raise UnavailableError from None
        except BaseException as error:
            _discard(published, error)
            raise
        # Those before it were rolled back, for a deadlock.
        _discard(published[:-1])
        return response


def _discard(documents: list[Document], error: BaseException | None = None) -> None:
    """Delete the files of documents that were rolled back, as far as the error says so of the last one."""
    for document in documents:
        discard(document, error if document is documents[-1] else None)


def _item(document: Document) -> dict[str, Any]:
    return {
        "documentId": str(document.document_id),
        "createdAt": format_timestamp(document.created_at),
        "type": document.type,
        "title": document.title,
        "contentType": document.content_type,
        "sizeBytes": document.size_bytes,
        "sha256": bytes(document.sha256).hex(),
    }
