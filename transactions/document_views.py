"""A user's documents: contract, section 7."""

import re
import uuid

from partners.api.description import describes
from partners.api.errors import InternalError, NotFoundError, UnavailableError, invalid_fields
from partners.api.request import ServiceRequest
from partners.api.response import JsonResponse, Response
from partners.api.views import PartnerAPIView
from partners.streaming import TooManyStreamsError
from transactions import document_queries
from transactions.described import GET_DOCUMENT, LIST_DOCUMENTS, NO_SUCH_DOCUMENT
from transactions.document_queries import PublishedFile
from transactions.listing import UserList
from transactions.models import FaultCause
from transactions.sending import FaultError, respond
from transactions.serializers import DocumentSerializer
from users.fields import external_id_problems
from users.profile import find_user

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)


class DocumentList(UserList):
    """/v1/users/{externalId}/documents."""

    serializer = DocumentSerializer()
    rows = document_queries.page

    @describes(LIST_DOCUMENTS)
    def get(self, request: ServiceRequest, external_id: str) -> JsonResponse:
        """A page of the user's documents, newest first."""
        return self.page(external_id)


class DocumentFile(PartnerAPIView):
    """/v1/users/{externalId}/documents/{documentId}."""

    @describes(GET_DOCUMENT)
    def get(self, request: ServiceRequest, external_id: str, document_id: str) -> Response:
        """The document's file."""
        if problems := external_id_problems(external_id):
            raise invalid_fields(problems)
        user = find_user(sender=self.sender, external_id=external_id)
        file = _find(user.id, document_id)
        try:
            return respond(
                file, owner=self.sender.caller.partner_slug, request_id=self.request_id, headers=self.answer_headers
            )
        except TooManyStreamsError:
            raise UnavailableError from None
        except FaultError as fault:
            # Logged and counted already.
            raise (UnavailableError() if fault.cause == FaultCause.STORAGE_FAILED else InternalError()) from None


def _find(user_id: str, document_id: str) -> PublishedFile:
    """The user's document. Raises NotFoundError, for what is no documentId too."""
    file = document_queries.find(user_id, uuid.UUID(document_id)) if _UUID.fullmatch(document_id) else None
    if file is None:
        raise NotFoundError(NO_SUCH_DOCUMENT)
    return file
