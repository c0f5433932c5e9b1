"""Documents in: the file is stored, whole, and then the row that lists it. No row is ever without its file.

A process that is killed between the two leaves a file that no row names: nobody is shown it.
"""

import hashlib
import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO

import structlog
from django.core.exceptions import ValidationError
from django.core.files.storage import storages
from django.db import DatabaseError, InterfaceError, transaction
from django.utils import timezone

from transactions.documents.downloads import PIECE, STORAGE
from transactions.documents.file_types import ENDINGS
from transactions.models import TITLE_LENGTH, Document, DocumentType
from users.models import User
from users.services.field_rules import text

log = structlog.get_logger("transactions.documents.publishing")

LARGEST_BYTES = 100 * 1024 * 1024


class UnreadableError(Exception):
    """The file that is to be published could not be read."""


class StorageError(Exception):
    """The storage of documents could not be used; nothing is published."""


def publish(
    *, user: User, source: BinaryIO, kind: str, title: str, content_type: str, created_at: datetime | None = None
) -> Document:
    """Stores what `source` holds, read once and never whole in memory, and lists it among the user's documents.

    kind: one of DocumentType. content_type: one of ENDINGS. created_at: when it was issued; now, where None.
    Called again, it publishes another document. Raises ValidationError, UnreadableError, StorageError.
    """
    document = Document(
        partner_id=user.partner_id,
        user=user,
        type=_one_of(DocumentType.values, kind, "type"),
        title=_title(title),
        content_type=_one_of(ENDINGS, content_type, "content type"),
        created_at=created_at or timezone.now(),
        storage_name=f"{user.partner_id}/{uuid.uuid4()}",
    )
    try:
        _store(document, _Source(source))
        with transaction.atomic():
            document.save(force_insert=True)
    except BaseException:
        _take_back(document)
        raise
    return document


def _store(document: Document, source: "_Source") -> None:
    try:
        # It can be given another name where this one is taken.
        document.storage_name = storages[STORAGE].save(document.storage_name, source)  # type: ignore[arg-type]
    except OSError as error:
        raise StorageError from error
    if not source.size:
        raise ValidationError("The file is empty.")
    document.size_bytes, document.sha256 = source.size, source.digest.digest()


def _take_back(document: Document) -> None:
    """Removes what was stored of a document that is not listed; a connection that broke may have listed it."""
    try:
        if not Document.objects.filter(document_id=document.document_id).exists():
            storages[STORAGE].delete(document.storage_name)
    except (OSError, DatabaseError, InterfaceError):
        log.warning("a file that may belong to no document was left", file=document.storage_name, exc_info=True)


class _Source:
    """The file as storages read it, counted and hashed on the way. It cannot be read twice."""

    closed = False

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self.size = 0
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        try:
            piece = self._source.read(size)
        except OSError as error:
            raise UnreadableError(error.strerror or type(error).__name__) from error
        self.size += len(piece)
        if self.size > LARGEST_BYTES:
            raise ValidationError(f"The file is larger than {LARGEST_BYTES // 1024**2} MiB.")
        self.digest.update(piece)
        return piece

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        while piece := self.read(chunk_size or PIECE):
            yield piece

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        """Whoever opened the file closes it."""


def _one_of(known: object, value: str, name: str) -> str:
    names: list[str] = list(known)  # type: ignore[call-overload]
    if value not in names:
        raise ValidationError(f"The {name} is not one of: {', '.join(names)}.")
    return value


def _title(value: str) -> str:
    try:
        return text(value, shortest=1, longest=TITLE_LENGTH)
    except ValidationError as problem:
        raise ValidationError(f"title: {problem.message}") from None
