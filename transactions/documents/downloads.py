"""A document's file on its way out: in pieces, and never whole unless it is what was published.

A file is hashed while it is sent, and a piece is given only once the next has been read, the last one
only once size and SHA-256 are those recorded. Where they are not, or the storage fails, the answer is
broken off before its last byte, so that nobody takes it for the document (contract, section 7).
"""

import hashlib
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import IO, Any

import structlog
from django.core.files.storage import storages
from django.db import DatabaseError, InterfaceError
from django.http import HttpResponse

from partners.streaming import LimitedStreamingResponse, stream
from transactions import queries
from transactions.documents.file_types import content_disposition
from transactions.models import Document, FaultCause
from transactions.queries import PublishedFile

log = structlog.get_logger("transactions.documents.downloads")

STORAGE = "documents"
# What is read and sent at once: three of these are the memory that an answer takes.
PIECE = 64 * 1024


class FaultError(Exception):
    """A file cannot be sent whole. Nothing of its text is personal."""

    def __init__(self, cause: FaultCause) -> None:
        super().__init__(f"A document's file cannot be sent whole: {cause.value}.")
        self.cause = cause


def file_of(document: Document) -> PublishedFile:
    """What is needed to send the file of a document that the ORM has read."""
    return PublishedFile(
        document.pk,
        document.document_id,
        document.title,
        document.content_type,
        document.size_bytes,
        bytes(document.sha256).hex(),
        document.storage_name,
    )


class Sending(Iterator[bytes]):
    """A file's bytes, in pieces. A fault is logged, counted, and raised as FaultError.

    What the first two pieces tell is raised when the object is made, so that it can still be answered as an
    error; a file of one piece is then checked altogether. request_id: for the log, which is written long after
    the request's own line.
    """

    def __init__(self, file: PublishedFile, *, request_id: str) -> None:
        self._file = file
        self._log = log.bind(request_id=request_id, document=str(file.document_id))
        self._begun = time.perf_counter()
        self._sent = 0
        self._ended = False
        self._pieces = _verified(file)
        self._ready: bytes | None = self._advance()

    def __next__(self) -> bytes:
        """The next piece. Raises FaultError in place of the last."""
        piece, self._ready = self._ready, None
        piece = piece or self._advance()
        self._sent += len(piece)
        return piece

    def close(self) -> None:
        """Lets go of the file; called by the server in any case, by Django's response."""
        self._pieces.close()
        if not self._ended:
            self._ended = True
            self._log.info("document not taken whole", sent=self._sent, milliseconds=self._milliseconds())

    def _advance(self) -> bytes:
        try:
            return next(self._pieces)
        except StopIteration:
            self._ended = True
            self._log.info("document sent", bytes=self._sent, milliseconds=self._milliseconds())
            raise
        except FaultError as fault:
            self._ended = True
            self._report(fault)
            raise

    def _report(self, fault: FaultError) -> None:
        self._log.error(
            "document cut off",
            cause=fault.cause.value,
            file=self._file.storage_name,
            sent=self._sent,
            milliseconds=self._milliseconds(),
            exc_info=fault,
        )
        # The server prints what is raised, with its cause's text; the line above has what may be told of it.
        fault.__cause__ = None
        try:
            queries.count_fault(self._file.id, fault.cause.value)
        except (DatabaseError, InterfaceError):
            self._log.warning("a document's fault could not be counted", exc_info=True)

    def _milliseconds(self) -> float:
        return round((time.perf_counter() - self._begun) * 1000, 1)


def respond(file: PublishedFile, *, owner: str, request_id: str) -> HttpResponse | LimitedStreamingResponse:
    """The answer that sends a file: whole where it is one piece, else in pieces (partners/streaming.py).

    owner: whose download it is. Raises FaultError and TooManyStreamsError before the first byte.

    The declared length is the recorded one: an answer that is broken off is shorter, and every client sees it.
    """
    sending = Sending(file, request_id=request_id)
    all_headers = {
        "Content-Type": file.content_type,
        "Content-Length": str(file.size_bytes),
        "Content-Disposition": content_disposition(file.title, file.content_type),
        "ETag": f'"{file.sha256}"',
        "Accept-Ranges": "none",
        "X-Content-Type-Options": "nosniff",
    }
    if file.size_bytes > PIECE:
        return stream(sending, owner=owner, headers=all_headers)
    with closing(sending):
        return HttpResponse(b"".join(sending), headers=all_headers)


def _verified(file: PublishedFile) -> Generator[bytes, None, None]:
    """The file's pieces, each held back until the one after it is there, the last until all is right."""
    digest, left, held = hashlib.sha256(), file.size_bytes, b""
    for piece in _stored(file.storage_name):
        left -= len(piece)
        if left < 0:
            raise FaultError(FaultCause.LONGER)
        digest.update(piece)
        if held:
            yield held
        held = piece
    if left > 0:
        raise FaultError(FaultCause.SHORTER)
    if digest.hexdigest() != file.sha256:
        raise FaultError(FaultCause.OTHER_BYTES)
    yield held


def _stored(name: str) -> Iterator[bytes]:
    """What the storage has under this name. Raises FaultError."""
    source: IO[Any] | None = None
    try:
        source = storages[STORAGE].open(name)
        while piece := source.read(PIECE):
            yield piece
    except FileNotFoundError as error:
        raise FaultError(FaultCause.MISSING) from error
    except OSError as error:
        raise FaultError(FaultCause.STORAGE_FAILED) from error
    finally:
        if source is not None:
            source.close()
