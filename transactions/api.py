"""A user's conversions and documents: contract, sections 6, 7 and 9."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from core.database.pipeline import Query
from core.formats import is_uuid
from core.streaming import TooManyStreamsError
from partners.api.base import PartnerAPIView
from partners.api.errors import BadRequestError, InternalError, NotFoundError, UnavailableError
from partners.api.lists import CursorFormat, KeysetList, KeysetPagination, Page
from partners.api.request import PartnerRequest
from transactions.documents.downloads import DocumentError, DocumentProblem, record_download, respond
from transactions.models import Conversion, Document
from users import queries
from users.api.views import check_external_id, external_id_errors, found
from users.queries import UserSummary

DOCUMENT_NOT_FOUND = "Document not found."
CURSOR = CursorFormat(19)
MAX_TIEBREAK = 2**63 - 1

_OF_USER: dict[str, Any] = {
    "owner": "SELECT id FROM users_user WHERE partner_id = %s AND external_id = %s",
    "of_owner": "user_id = owner.id",
    "key": {"created_at": "timestamptz", "tiebreak": "bigint"},
    "shows": "owner.id::text",
}
_NOT_WITHDRAWN = """NOT EXISTS (SELECT FROM transactions_documentwithdrawal AS withdrawal
                                 WHERE withdrawal.document_id = transactions_document.id)"""
CONVERSIONS = KeysetList(table="transactions_conversion", item=Conversion.wire, **_OF_USER)
DOCUMENTS = KeysetList(table="transactions_document", item=Document.wire, is_listed=_NOT_WITHDRAWN, **_OF_USER)


class CursorPagination(KeysetPagination):
    """Pages of a user's lists: contract, section 6.

    A cursor names the last row of the page before: its createdAt, and after the six fraction digits its tiebreak, which
    is random and so reveals nothing. Rows are never deleted but with their user, so that row still exists: a cursor
    without a row is not one of this list.
    """

    def parse(self, cursor: str) -> tuple[str, int] | None:
        """The createdAt and tiebreak that a cursor names; None if it is malformed."""
        position = CURSOR.parse(cursor)
        return position if position and position[1] <= MAX_TIEBREAK else None

    def cursor_of(self, position: Sequence[Any]) -> str:
        """The cursor that names a position."""
        return CURSOR.write(*position)


class UserRowList(PartnerAPIView):
    """A list of one user's rows, newest first. A subclass names it."""

    pagination_class = CursorPagination
    rows: ClassVar[KeysetList]

    paginator: CursorPagination

    def get_query(self, partner_id: int, external_id: str) -> Query[Page]:  # type: ignore[override]
        if errors := [*external_id_errors(external_id), *self.paginator.errors]:
            raise BadRequestError(field_errors=errors)
        return self.rows.page((partner_id, external_id), self.paginator.start, self.paginator.limit)

    def get(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        page = found(self.get_rows())
        return self.paginator.get_paginated_response(page, {"externalId": external_id, "userId": page.owner})


class TransactionList(UserRowList):
    """/v1/users/{externalId}/transactions."""

    rows = CONVERSIONS


class DocumentList(UserRowList):
    """/v1/users/{externalId}/documents."""

    rows = DOCUMENTS


class DocumentFile(PartnerAPIView):
    """/v1/users/{externalId}/documents/{documentId}."""

    def get_query(self, partner_id: int, external_id: str, document_id: str) -> Query[Any]:  # type: ignore[override]
        check_external_id(external_id)
        return queries.find(partner_id, external_id)

    def get(self, request: PartnerRequest, external_id: str, document_id: str) -> HttpResponseBase:
        user = UserSummary(*found(self.get_rows()))
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
