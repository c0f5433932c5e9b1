"""Withdraws documents that were published by mistake: contract, section 7.

A withdrawn document is in no list of the partner and cannot be downloaded; staff still see it, with who withdrew it and
why. The file stays.
"""

from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from core.database import history_context
from core.formats.json_rules import text
from core.refusals import RefusedError
from staff.models import Staff
from transactions.models import WITHDRAWAL_REASON_LENGTH, Document, DocumentWithdrawal
from users.decisions.compliance import PERMISSION


def find_document(document_id: str) -> Document:
    """The document with this documentId. Raises ValidationError."""
    try:
        return Document.objects.get(document_id=UUID(document_id))
    except (ValueError, Document.DoesNotExist):
        raise ValidationError(f"Document {document_id!r} not found.") from None


def withdraw(*, document: Document, by: Staff, reason: str, source: str) -> DocumentWithdrawal:
    """Hide the document from its partner, for good, and tell the partner by an event (a trigger).

    by: an active account that may decide. reason: 1 to 2000 characters.
    source: the origin that the history names, such as a command.
    Raises RefusedError, and ValidationError for the reason; nothing has changed then.
    """
    try:
        reason = text(reason, shortest=1, longest=WITHDRAWAL_REASON_LENGTH)
    except ValidationError as error:
        raise ValidationError(f"reason: {error.message}") from None
    if not by.has_perm(PERMISSION):
        raise RefusedError(
            f"{by.get_username()} may not withdraw documents: the account is not active or may not decide."
        )
    try:
        with transaction.atomic():
            history_context.set_context(staff=by.get_username(), source=source)
            return DocumentWithdrawal.objects.create(document=document, by=by, reason=reason)
    except IntegrityError:
        raise RefusedError(f"Document {document.document_id} is withdrawn already.") from None
