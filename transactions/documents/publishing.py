"""Publishes documents, and withdraws those that were published by mistake (contract, section 7).

First the file is stored, then the row: no row is ever without its file. A process that is killed between the two leaves
a file without a row, which nobody can see. The files of erased users go after the commit.
"""

import codecs
import errno
import hashlib
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, BinaryIO, NoReturn
from uuid import UUID

import structlog
from django.core.exceptions import ValidationError
from django.core.files.storage import storages
from django.db import IntegrityError, transaction
from django.utils import timezone

from core.database import history_context
from core.database.errors import is_reference_gone, may_be_committed
from core.formats.json_rules import text
from core.refusals import RefusedError
from staff.models import Staff
from transactions.documents.downloads import CHUNK_BYTES, STORAGE
from transactions.documents.file_types import CSV, NAMES, PDF, SIGNATURES
from transactions.models import (
    TITLE_LENGTH,
    WITHDRAWAL_REASON_LENGTH,
    Document,
    DocumentType,
    DocumentWithdrawal,
    ErasedFile,
)
from users.decisions.compliance import DECIDE
from users.models import User
from users.refusals import require_permission

log = structlog.get_logger("transactions.documents.publishing")

MAX_BYTES = 100 * 1024 * 1024
# Line breaks may follow the end of a PDF.
TAIL_BYTES = 1024

_FULL = "The storage of documents is full."
_UNUSABLE = "The storage of documents cannot be used: see DOCUMENT_STORAGE_URL."


class UnreadableError(Exception):
    """The file to be published could not be read."""


class StorageError(RefusedError):
    """The storage of documents failed; nothing is published. The text says what to do, and names nobody."""


def publish(
    *,
    user: User,
    source: BinaryIO,
    kind: DocumentType,
    title: str,
    content_type: str,
    created_at: datetime | None = None,
    replaces: Mapping[str, Any] | None = None,
) -> Document:
    """Store a file and list it among the user's documents. Each call publishes another document.

    source: read once, in chunks. content_type: one of EXTENSIONS, which the content must fit. created_at: when it was
    issued; now by default. replaces: another document of the user, withdrawn in the same transaction: `document`, `by`
    and `reason`.
    Raises ValidationError, RefusedError, UnreadableError, StorageError.
    """
    try:
        title = text(title, shortest=1, longest=TITLE_LENGTH)
    except ValidationError as error:
        raise ValidationError(f"title: {error.message}") from None
    if replaces and replaces["document"].user_id != user.pk:
        raise RefusedError(f"Document {replaces['document'].document_id} is another user's.")
    document = Document(
        partner_id=user.partner_id,
        user=user,
        is_sandbox=user.is_sandbox,
        type=kind,
        title=title,
        content_type=content_type,
        created_at=created_at or timezone.now(),
        storage_name=f"{user.partner_id}/{uuid.uuid4()}",
    )
    try:
        _store(document, _CheckedSource(source, content_type))
        with transaction.atomic():
            if replaces:
                withdraw(**replaces, source="manage.py publish_document")
            document.save(force_insert=True)
    except BaseException as error:
        discard(document, error)
        if is_reference_gone(error):
            raise RefusedError("The user was erased meanwhile.") from error
        raise
    return document


def digest_of(source: BinaryIO, content_type: str) -> bytes:
    """The SHA-256 of a file that may be published. Raises ValidationError, UnreadableError."""
    checked = _CheckedSource(source, content_type)
    for _chunk in checked.chunks():
        pass
    checked.finish()
    return checked.digest.digest()


def _store(document: Document, source: "_CheckedSource") -> None:
    try:
        # The storage chooses another name if this one is taken.
        document.storage_name = storages[STORAGE].save(document.storage_name, source)  # type: ignore[arg-type]
    except OSError as error:
        raise StorageError(_FULL if error.errno in {errno.ENOSPC, errno.EDQUOT} else _UNUSABLE) from error
    source.finish()
    document.size_bytes, document.sha256 = source.size, source.digest.digest()


def discard(document: Document, error: BaseException | None = None) -> None:
    """Delete the file of a document whose row was rolled back; not if `error` leaves open whether it was.

    A COMMIT without an answer may succeed later, when nobody looks any more.
    """
    try:
        if document.pk is None or error is None or not may_be_committed(error):
            storages[STORAGE].delete(document.storage_name)
            return
    except OSError as failure:
        error = failure
    log.warning("a file without a document may be left", file=document.storage_name, exc_info=error)


class _CheckedSource:
    """A file as storages read it, once; it is counted, hashed and checked at the same time.

    What was published by mistake cannot be changed any more: the content must be of its type, if that has a form.
    """

    closed = False

    def __init__(self, source: BinaryIO, content_type: str) -> None:
        self._source, self._content_type = source, content_type
        self.size = 0
        self.digest = hashlib.sha256()
        self._head = self._tail = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")() if content_type == CSV else None

    def read(self, size: int = -1) -> bytes:
        try:
            chunk = self._source.read(size)
        except OSError as error:
            raise UnreadableError(error.strerror or type(error).__name__) from error
        self.size += len(chunk)
        if self.size > MAX_BYTES:
            raise ValidationError(f"The file is larger than {MAX_BYTES // 1024**2} MiB.")
        self.digest.update(chunk)
        self._head = self._head or chunk[:TAIL_BYTES]
        self._tail = (self._tail + chunk)[-TAIL_BYTES:]
        if not self._is_text(chunk):
            self._refuse()
        return chunk

    def finish(self) -> None:
        """Raise ValidationError unless the whole content fits."""
        if not self.size:
            raise ValidationError("The file is empty.")
        is_whole = self._content_type != PDF or self._tail.rstrip(b"\r\n").endswith(b"%%EOF")
        is_signed = self._head.startswith(SIGNATURES.get(self._content_type, b""))
        if not (is_signed and is_whole and self._is_text(b"", final=True)):
            self._refuse()

    def _is_text(self, chunk: bytes, *, final: bool = False) -> bool:
        try:
            return not self._decoder or "\0" not in self._decoder.decode(chunk, final)
        except UnicodeDecodeError:
            return False

    def _refuse(self) -> NoReturn:
        raise ValidationError(f"The file is not a {NAMES[self._content_type]}, as its name or content type says.")

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        while chunk := self.read(chunk_size or CHUNK_BYTES):
            yield chunk

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        """Leave it open: the caller closes it."""


def find_document(document_id: str) -> Document:
    """The document with this documentId. Raises ValidationError."""
    try:
        return Document.objects.get(document_id=UUID(document_id))
    except (ValueError, Document.DoesNotExist):
        raise ValidationError(f"Document {document_id!r} not found.") from None


def withdraw(*, document: Document, by: Staff, reason: str, source: str) -> DocumentWithdrawal:
    """Hide the document from its partner, for good, and tell the partner by an event (a trigger).

    Staff still see it, with who withdrew it and why; the file stays.
    by: an active account that may decide. reason: 1 to 2000 characters.
    source: the origin that the history names, such as a command.
    Raises RefusedError, and ValidationError for the reason; nothing has changed then.
    """
    try:
        reason = text(reason, shortest=1, longest=WITHDRAWAL_REASON_LENGTH)
    except ValidationError as error:
        raise ValidationError(f"reason: {error.message}") from None
    require_permission(by, DECIDE)
    try:
        with transaction.atomic():
            history_context.set_context(staff=by.get_username(), source=source)
            return DocumentWithdrawal.objects.create(document=document, by=by, reason=reason)
    except IntegrityError:
        raise RefusedError(f"Document {document.document_id} is withdrawn already.") from None


# A storage that fails for so many files in a row is not asked for the others: each may wait for seconds.
MAX_FAILURES = 3


def delete_files(*, using: str) -> int:
    """Delete the files of documents that went with their users.

    Returns how many are left, because the storage failed: for the next run.

    using: the alias of the owner's connection.
    """
    waiting = ErasedFile.objects.using(using)
    failures = 0
    # At random, so that the same few files never keep the others from their turn.
    for erased in waiting.order_by("?"):
        try:
            # A file that is not there is no failure.
            storages[STORAGE].delete(erased.storage_name)
        except OSError as error:
            failures += 1
            log.warning("a file of an erased document is left", file=erased.storage_name, exc_info=error)
            if failures == MAX_FAILURES:
                break
        else:
            failures = 0
            erased.delete()
    return waiting.count()
