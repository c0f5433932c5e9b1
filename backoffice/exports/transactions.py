"""A user's conversions and documents in an evidence pack and in the person's copy, with the documents' files."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import orjson
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from backoffice.exports.evidence_words import Words
from core.database import statements
from core.formats.rfc_3339 import format_timestamp
from partners.api.lists import MAX_LIMIT, KeysetList
from transactions import queries
from transactions.documents.downloads import DocumentError, DocumentProblem, file_chunks
from transactions.documents.file_types import EXTENSIONS, UNKNOWN
from transactions.models import Document, DocumentType, DocumentWithdrawal
from users.models import User

CONVERSION_WORDS: Words = {"type": {"conversion": _("Conversion")}}
DOCUMENT_WORDS: Words = {
    "type": dict(DocumentType.choices),
    "fileFault": {**dict(DocumentProblem.choices), "too large": _("The files together exceed the limit of a pack")},
}


class UnreadableFileError(Exception):
    """A file cannot be read whole. code: why, without anything personal."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class AttachedFile(NamedTuple):
    """The file of a document. chunks: its bytes; raises UnreadableFileError."""

    document_id: str
    name: str
    size_bytes: int
    chunks: Callable[[], Iterator[bytes]]


def _items(rows: KeysetList, user: User) -> Iterator[dict[str, Any]]:
    """All items of a user's list, as the API represents them, newest first."""
    start = None
    while pages := statements.fetch(rows.page((user.partner_id, user.external_id), start, MAX_LIMIT)):
        [page] = pages
        yield from orjson.loads(page.items)
        if not page.has_more:
            return
        start = page.last


def conversion_records(user: User) -> Iterator[dict[str, Any]]:
    """All conversions of a user as the API represents them, newest first."""
    return _items(queries.CONVERSIONS, user)


def document_records(user: User) -> Iterator[dict[str, Any]]:
    """All documents of a user as the API represents them, newest first; those withdrawn with when, by whom and why."""
    withdrawals = {
        str(one.document.document_id): {
            "withdrawnAt": format_timestamp(one.created_at),
            "withdrawnBy": one.by.get_username(),
            "withdrawalReason": one.reason,
        }
        for one in DocumentWithdrawal.objects.filter(document__user=user).select_related("document", "by")
    }
    for item in _items(queries.PUBLISHED_DOCUMENTS, user):
        yield item | withdrawals.get(item["documentId"], {})


def issued_document_records(user: User) -> Iterator[dict[str, Any]]:
    """The documents of a user that were not withdrawn, as the API represents them, newest first."""
    return _items(queries.DOCUMENTS, user)


def document_files(user: User, request_id: str) -> Iterator[AttachedFile]:
    """The files of all documents of a user, newest first; of those withdrawn too."""
    return _files(user.documents.all(), request_id)


def issued_document_files(user: User, request_id: str) -> Iterator[AttachedFile]:
    """The files of the documents that were not withdrawn, newest first."""
    return _files(user.documents.filter(withdrawal=None), request_id)


def _files(documents: QuerySet[Document], request_id: str) -> Iterator[AttachedFile]:
    for document in documents.order_by("-created_at", "-tiebreak").iterator():
        yield AttachedFile(
            document_id=str(document.document_id),
            name=f"documents/{document.document_id}{EXTENSIONS.get(document.content_type, EXTENSIONS[UNKNOWN])}",
            size_bytes=document.size_bytes,
            chunks=partial(_file_chunks, document, request_id),
        )


def _file_chunks(document: Document, request_id: str) -> Iterator[bytes]:
    try:
        yield from file_chunks(document, request_id=request_id)
    except DocumentError as error:
        raise UnreadableFileError(error.problem.value) from None
