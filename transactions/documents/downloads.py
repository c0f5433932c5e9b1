"""Downloads of documents: in chunks, and complete only if the file is the published one (contract, section 7).

The file is hashed while it is sent. A chunk is released when the next one has been read, the last one when size and
SHA-256 match the record. Otherwise the response is aborted before its last byte, so that no client takes it for the
document.
"""

import hashlib
import json
from collections.abc import Generator, Mapping
from contextlib import closing
from itertools import chain

import structlog
from django.core.files.storage import storages
from django.db import DatabaseError, InterfaceError, models
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from prometheus_client import Counter

from core.audit import insert_entry, register
from core.database import statements
from core.streaming import LimitedStreamingResponse
from transactions.documents.file_types import content_disposition
from transactions.models import Document
from users.models.columns import names_of_user

log = structlog.get_logger("transactions.documents.downloads")

STORAGE = "documents"
# A response holds up to three chunks in memory.
CHUNK_BYTES = 64 * 1024


DOWNLOADED = register("document.downloaded", _("Document downloaded"))

# Further downloads within the hour add nothing: a client that asks again and again does not fill the log.
_RECORD = insert_entry(
    f"'{DOWNLOADED}'",
    object="%s",
    context="%s::jsonb",
    further=names_of_user("%s::uuid"),
    where=f"""NOT EXISTS (
        SELECT FROM core_auditentry earlier
         WHERE earlier.object = %s AND earlier.action = '{DOWNLOADED}' AND earlier.at > now() - interval '1 hour'
           AND earlier.actor = coalesce(context ->> 'staff', context ->> 'partner')
           AND earlier.detail ->> 'key' IS NOT DISTINCT FROM context ->> 'key')""",
)


class DocumentProblem(models.TextChoices):
    """Why a document's file could not be sent whole. The log and the metrics have the values."""

    MISSING = "missing", _("The file is not there")
    OTHER_BYTES = "other bytes", _("The file holds other bytes than published")
    STORAGE_FAILED = "storage failed", _("The storage failed or could not be reached")


_failures = Counter("psi_document_faults", "Downloads that ended because the file could not be sent whole.", ["cause"])
for _cause in DocumentProblem:
    # Each series begins at 0: Prometheus takes the first value of a series for no increase.
    _failures.labels(_cause.value)


class DocumentError(Exception):
    """A file cannot be sent whole. The text holds nothing personal."""

    def __init__(self, problem: DocumentProblem) -> None:
        super().__init__(f"A document's file cannot be sent whole: {problem.value}.")
        self.problem = problem


def respond(document: Document, *, owner: str, request_id: str) -> HttpResponse | LimitedStreamingResponse:
    """The response with a document's file, streamed if it has several chunks (core/streaming.py).

    owner: whose download it is. Raises DocumentError and TooManyStreamsError before the first byte. Content-Length is
    the recorded size, so that every client notices an aborted response.
    """
    headers = {
        "Content-Type": document.content_type,
        "Content-Length": str(document.size_bytes),
        "Content-Disposition": content_disposition(document.title, document.content_type),
        "ETag": f'"{bytes(document.sha256).hex()}"',
        "Accept-Ranges": "none",
        "X-Content-Type-Options": "nosniff",
    }
    chunks = file_chunks(document, request_id=request_id)
    if document.size_bytes > CHUNK_BYTES:
        return LimitedStreamingResponse(chunks, owner=owner, headers=headers)
    return HttpResponse(b"".join(chunks), headers=headers)


def file_chunks(document: Document, *, request_id: str) -> Generator[bytes, None, None]:
    """The chunks of a document's file, the last one after verification. Raises DocumentError, here or between two."""
    chunks = _logged_chunks(document, request_id)
    next(chunks)
    return chunks


def _logged_chunks(document: Document, request_id: str) -> Generator[bytes, None, None]:
    """Nothing once the first chunk can be sent, then the chunks. Problems are logged, counted and raised."""
    request_log, sent = log.bind(request_id=request_id, document=str(document.document_id)), 0
    try:
        with closing(_verified_chunks(document)) as chunks:
            first = next(chunks)
            yield b""
            for chunk in chain((first,), chunks):
                sent += len(chunk)
                yield chunk
    except DocumentError as error:
        cause = error.problem.value
        request_log.error(
            "document download failed", cause=cause, file=document.storage_name, sent=sent, exc_info=error
        )
        # The server prints an exception with the text of its cause, which may be personal.
        error.__cause__ = None
        _failures.labels(cause).inc()
        raise
    request_log.info("document sent", bytes=sent)


def _verified_chunks(document: Document) -> Generator[bytes, None, None]:
    """The file's chunks, each after the next one has been read, the last after verification."""
    digest, left, held = hashlib.sha256(), document.size_bytes, b""
    try:
        with closing(storages[STORAGE].open(document.storage_name)) as source:
            while left >= 0 and (chunk := source.read(CHUNK_BYTES)):
                left -= len(chunk)
                digest.update(chunk)
                if held and left >= 0:
                    yield held
                held = chunk
    except FileNotFoundError as error:
        raise DocumentError(DocumentProblem.MISSING) from error
    except OSError as error:
        raise DocumentError(DocumentProblem.STORAGE_FAILED) from error
    if left or digest.digest() != bytes(document.sha256):
        raise DocumentError(DocumentProblem.OTHER_BYTES)
    yield held


def record_download(document: Document, *, by: Mapping[str, str]) -> None:
    """Record a download, but of the sandbox's. by: names of core/database/statements.py; needs no transaction."""
    if document.is_sandbox:
        return
    name = str(document.document_id)
    try:
        statements.run(_RECORD, (name, str(document.user_id), json.dumps(dict(by)), name))
    except (DatabaseError, InterfaceError):
        # Reads work without a database that takes writes. The line `document sent` says who it was, too.
        log.exception("document download could not be recorded", document=name)
