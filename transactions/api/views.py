"""A user's conversions and documents: contract, sections 6, 7 and 9."""

from typing import Any, ClassVar

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from core.database.query import Query
from core.formats.uuids import is_uuid
from core.streaming import TooManyStreamsError
from partners.api.base import PartnerAPIView
from partners.api.errors import BadRequestError, InternalError, NotFoundError, UnavailableError, invalid_parameter
from partners.api.pagination import NOT_A_CURSOR, KeysetPagination
from partners.api.request import PartnerRequest
from partners.api.serializers import RowSerializer
from transactions import keyset
from transactions.api.serializers import (
    ConversionSerializer,
    DocumentSerializer,
)
from transactions.documents.downloads import DocumentError, DocumentProblem, record_download, respond
from transactions.keyset import KeysetRows, Owner, Position, Row
from transactions.models import Document
from users.api.errors import external_id_errors, user_not_found
from users.api.views import UserView

DOCUMENT_NOT_FOUND = "Document not found."


class CursorPagination(KeysetPagination[Position]):
    """Pages of a user's lists: contract, section 6.

    Rows are never deleted but with their user, so the row that a cursor names still exists. The next page is read from
    that row on, and a cursor without a row is not one of this list.
    """

    def parse(self, cursor: str) -> Position | None:
        """The position that a cursor names; None if it is malformed."""
        return Position.parse(cursor)

    @property
    def count(self) -> int:
        """The number of rows to read: the cursor's own, the page, and one that tells whether more follow."""
        return self.limit + (1 if self.start is None else 2)

    def after_start(self, rows: list[Row]) -> list[Row]:
        """The rows after the cursor's own, which is the first. Raises BadRequestError for a cursor of another list."""
        if not rows or not rows[0].created_at or keyset.position(rows[0]) != self.start:
            raise invalid_parameter("cursor", NOT_A_CURSOR)
        return rows[1:]

    def cursor_of(self, row: Row) -> str:
        """The cursor that names a row."""
        return keyset.position(row).cursor()


class UserRowList(PartnerAPIView):
    """A list of one user's rows, newest first. A subclass names the rows and their serializer."""

    pagination_class = CursorPagination
    serializer_class: ClassVar[type[RowSerializer[Any]]]
    rows: ClassVar[KeysetRows[Any]]

    paginator: CursorPagination

    def get_query(self, partner_id: int, external_id: str) -> Query[Any] | None:  # type: ignore[override]
        if external_id_errors(external_id) or self.paginator.errors:
            return None
        return self.rows.query(Owner(partner_id, external_id), self.paginator.start, self.paginator.count)

    def page(self, external_id: str) -> HttpResponse:
        """The response with the page. Raises BadRequestError and NotFoundError."""
        if errors := [*external_id_errors(external_id), *self.paginator.errors]:
            raise BadRequestError(field_errors=errors)
        rows = self.get_rows()
        if not rows:
            raise user_not_found()
        page = self.paginator.paginate_rows(rows)
        items = self.serializer_class.items(page)
        head = {"externalId": external_id, "userId": rows[0].user_id}
        return self.paginator.get_paginated_response(items, head=head)


class TransactionList(UserRowList):
    """/v1/users/{externalId}/transactions."""

    serializer_class = ConversionSerializer
    rows = keyset.CONVERSIONS

    def get(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        return self.page(external_id)


class DocumentList(UserRowList):
    """/v1/users/{externalId}/documents."""

    serializer_class = DocumentSerializer
    rows = keyset.DOCUMENTS

    def get(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        return self.page(external_id)


class DocumentFile(UserView):
    """/v1/users/{externalId}/documents/{documentId}."""

    def get(self, request: PartnerRequest, external_id: str, document_id: str) -> HttpResponseBase:
        user = self.get_user()
        documents = Document.objects.filter(user_id=user.id, withdrawal=None)
        document = documents.filter(document_id=document_id).first() if is_uuid(document_id) else None
        if document is None:
            raise NotFoundError(DOCUMENT_NOT_FOUND)
        try:
            response = respond(document, owner=request.user.partner_slug, request_id=request.request_id)
        except TooManyStreamsError:
            raise UnavailableError from None
        except DocumentError as error:
            # Erased with its user since it was looked up (contract, section 14).
            if error.problem == DocumentProblem.MISSING and not documents.filter(pk=document.pk).exists():
                raise NotFoundError(DOCUMENT_NOT_FOUND) from None
            # Logged and counted already.
            raise (UnavailableError() if error.problem == DocumentProblem.STORAGE_FAILED else InternalError()) from None
        caller = request.user
        by = {"partner": caller.partner_slug, "key": caller.key_prefix, "requestId": request.request_id}
        record_download(document, by=by)
        return response
