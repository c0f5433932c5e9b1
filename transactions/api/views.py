"""A user's conversions and documents: contract, sections 6, 7 and 9."""

import re
import uuid
from typing import Any, ClassVar

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema

from partners.api.base import PartnerAPIView
from partners.api.errors import InternalError, NotFoundError, UnavailableError, invalid_fields
from partners.api.request import PartnerRequest
from partners.api.schema import error_responses, success
from partners.db.statements import Query
from partners.streaming import TooManyStreamsError
from transactions import keyset, queries, replica
from transactions.api import schema
from transactions.api.pagination import CursorPagination
from transactions.api.serializers import (
    ConversionPageSerializer,
    ConversionSerializer,
    DocumentPageSerializer,
    DocumentSerializer,
    RowSerializer,
)
from transactions.documents.downloads import FaultError, respond
from transactions.documents.file_types import ENDINGS
from transactions.keyset import Owner, UserRows
from transactions.models import FaultCause
from transactions.queries import PublishedFile
from users.api.errors import BAD_PATH, external_id_errors, user_not_found
from users.api.views import UserView

NO_SUCH_DOCUMENT = "There is no such document."

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)


class UserList(PartnerAPIView):
    """A list of one user's rows, newest first. A subclass names the rows and how one is shown."""

    pagination_class = CursorPagination
    serializer_class: ClassVar[type[RowSerializer[Any]]]
    rows: ClassVar[UserRows[Any]]

    paginator: CursorPagination

    def get_query(self, partner_id: int, external_id: str) -> Query[Any]:  # type: ignore[override]
        """The page that the parameters ask for. Raises BadRequestError."""
        self.paginator = self.pagination_class()
        if problems := [*external_id_errors(external_id), *self.paginator.read(self.request.parameters())]:
            raise invalid_fields(problems)
        return self.rows.query(Owner(partner_id, external_id), self.paginator.start, self.paginator.count)

    def get_read_ahead(self, request: PartnerRequest) -> Query[Any] | None:
        """The page, unless it is to be read from a replica."""
        return None if replica.is_configured() else super().get_read_ahead(request)

    def fetch(self, query: Query[Any]) -> list[Any]:
        """Reads the page, from the replica where there is one."""
        return replica.fetch(query, self.paginator.start) if replica.is_configured() else super().fetch(query)

    def page(self, external_id: str) -> HttpResponse:
        """The page that the parameters ask for. Raises BadRequestError and NotFoundError."""
        found = self.get_rows()
        if not found:
            raise user_not_found()
        page = self.paginator.paginate_rows(keyset.present(found))
        items: Any = self.serializer_class(page, many=True).data
        return self.paginator.get_paginated_response(
            items,
            head={"externalId": external_id, "userId": found[0].user_id},
        )


class TransactionList(UserList):
    """/v1/users/{externalId}/transactions."""

    serializer_class = ConversionSerializer
    rows = queries.CONVERSIONS

    @extend_schema(
        operation_id="listTransactions",
        tags=["Conversions"],
        summary="Page through a user's conversions",
        description="Newest first. Every conversion that was there when paging began comes exactly once, whatever is"
        " recorded meanwhile.",
        parameters=schema.LIST_PARAMETERS,
        responses={
            200: success(ConversionPageSerializer, "A page of conversions.", schema.page_of(schema.CONVERSION)),
            **error_responses(*schema.LIST_ERRORS),
        },
    )
    def get(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        """A page of the user's conversions, newest first."""
        return self.page(external_id)


class DocumentList(UserList):
    """/v1/users/{externalId}/documents."""

    serializer_class = DocumentSerializer
    rows = queries.DOCUMENTS

    @extend_schema(
        operation_id="listDocuments",
        tags=["Documents"],
        summary="Page through a user's documents",
        description="Papers issued to the user about the account, newest first.",
        parameters=schema.LIST_PARAMETERS,
        responses={
            200: success(DocumentPageSerializer, "A page of documents.", schema.page_of(schema.DOCUMENT)),
            **error_responses(*schema.LIST_ERRORS),
        },
    )
    def get(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        """A page of the user's documents, newest first."""
        return self.page(external_id)


class DocumentFile(UserView):
    """/v1/users/{externalId}/documents/{documentId}."""

    @extend_schema(
        operation_id="getDocument",
        tags=["Documents"],
        summary="Download a document",
        description="The file itself. The service checks it while sending: where it is not what was published, the"
        " connection is broken off before the last byte. An answer shorter than its Content-Length is no document.",
        parameters=schema.FILE_PARAMETERS,
        responses={
            (200, *ENDINGS): OpenApiResponse(OpenApiTypes.BINARY, "The file, in the media type that the list says."),
            **error_responses(BAD_PATH, NotFoundError(NO_SUCH_DOCUMENT), user_not_found()),
        },
    )
    def get(self, request: PartnerRequest, external_id: str, document_id: str) -> HttpResponseBase:
        """The document's file."""
        file = _find(self.get_user().id, document_id)
        try:
            return respond(file, owner=request.user.partner_slug, request_id=request.request_id)
        except TooManyStreamsError:
            raise UnavailableError from None
        except FaultError as fault:
            # Logged and counted already.
            raise (UnavailableError() if fault.cause == FaultCause.STORAGE_FAILED else InternalError()) from None


def _find(user_id: str, document_id: str) -> PublishedFile:
    """The user's document. Raises NotFoundError, for what is no documentId too."""
    file = queries.find_document(user_id, uuid.UUID(document_id)) if _UUID.fullmatch(document_id) else None
    if file is None:
        raise NotFoundError(NO_SUCH_DOCUMENT)
    return file
