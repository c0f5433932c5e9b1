"""Publishes documents, and withdraws those that were published by mistake (contract, section 7).

First the file is stored, then the row: no row is ever without its file. A process that is killed between the two leaves
a file without a row, which nobody can see. The files of erased users go after the commit.
"""

import errno
import hashlib
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import structlog
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.db import IntegrityError, transaction
from django.utils import timezone

from core.database.errors import is_reference_gone, may_be_committed
from core.json_rules import text
from core.refusals import RefusedError
from staff.models import Staff
from transactions.documents.downloads import STORAGE
from transactions.documents.file_types import check_content
from transactions.models import WITHDRAWAL_REASON_LENGTH, Document, DocumentType, DocumentWithdrawal, ErasedFile
from users.decisions.compliance import DECIDE
from users.models import User
from users.refusals import require_permission

log = structlog.get_logger("transactions.documents.publishing")

# A storage that fails for so many files in a row is not asked for the others: each may wait for seconds.
MAX_FAILURES = 3


class StorageError(RefusedError):
    """The storage of documents failed; nothing is published. The text says what to do, and names nobody."""


def publish(
    *,
    user: User,
    content: bytes,
    kind: DocumentType,
    title: str,
    content_type: str,
    created_at: datetime | None = None,
    replaces: Mapping[str, Any] | None = None,
) -> Document:
    """Store a file and list it among the user's documents. Each call publishes another document.

    title: 1 to TITLE_LENGTH characters. content_type: one of EXTENSIONS, which the content must fit. created_at: when
    it was issued; now by default. replaces: another document of the user, withdrawn in the same transaction:
    `document`, `by` and `reason`.
    Raises ValidationError, RefusedError, StorageError.
    """
    check_content(content, content_type)
    if replaces and replaces["document"].user_id != user.pk:
        raise RefusedError(f"Document {replaces['document'].document_id} is another user's.")
    document = Document(
        partner_id=user.partner_id,
        user=user,
        is_sandbox=user.is_sandbox,
        type=kind,
        title=title,
        content_type=content_type,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).digest(),
        created_at=created_at or timezone.now(),
        storage_name=f"{user.partner_id}/{uuid.uuid4()}",
    )
    try:
        # The storage chooses another name if this one is taken.
        document.storage_name = storages[STORAGE].save(document.storage_name, ContentFile(content))
        with transaction.atomic():
            if replaces:
                withdraw(**replaces)
            document.save(force_insert=True)
    except BaseException as error:
        discard(document, error)
        if is_reference_gone(error):
            raise RefusedError("The user was erased meanwhile.") from error
        if isinstance(error, OSError):
            is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
            problem = "is full" if is_full else "cannot be used: see DOCUMENT_STORAGE_URL"
            raise StorageError(f"The storage of documents {problem}.") from error
        raise
    return document


def discard(document: Document, error: BaseException | None = None) -> None:
    """Delete the file of a document that was rolled back; not if `error`, a lost COMMIT, leaves open whether it was."""
    try:
        if document.pk is None or error is None or not may_be_committed(error):
            storages[STORAGE].delete(document.storage_name)
            return
    except OSError as failure:
        error = failure
    log.warning("a file without a document may be left", file=document.storage_name, exc_info=error)


def withdraw(*, document: Document, by: Staff, reason: str) -> DocumentWithdrawal:
    """Hide the document from its partner, for good, and tell the partner by an event (a trigger).

    Staff still see it, with who withdrew it and why; the file stays. by: an active account that may decide.
    Raises RefusedError, and ValidationError for the reason; nothing has changed then.
    """
    try:
        reason = text(reason, shortest=1, longest=WITHDRAWAL_REASON_LENGTH)
    except ValidationError as error:
        raise ValidationError({"reason": error}) from None
    require_permission(by, DECIDE)
    try:
        with transaction.atomic():
            return DocumentWithdrawal.objects.create(document=document, by=by, reason=reason)
    except IntegrityError:
        raise RefusedError(f"Document {document.document_id} is withdrawn already.") from None


def delete_files(*, using: str) -> int:
    """Delete the files of documents that went with their users; return how many are left for the next run."""
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
