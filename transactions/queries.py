"""Prepared statements for conversions and documents."""

import uuid
from typing import NamedTuple

from partners.db import statements
from transactions.keyset import UserRows


class ConversionRow(NamedTuple):
    """A conversion in a list."""

    user_id: str
    created_at: str
    tiebreak: str
    conversion_id: str
    type: str
    from_currency: str
    from_amount: str
    to_currency: str
    to_amount: str
    rate: str


class DocumentRow(NamedTuple):
    """A document in a list. sha256: lower-case hex."""

    user_id: str
    created_at: str
    tiebreak: str
    document_id: str
    type: str
    title: str
    content_type: str
    size_bytes: str
    sha256: str


class PublishedFile(NamedTuple):
    """A document's columns for sending its file. sha256: lower-case hex."""

    id: int
    document_id: uuid.UUID
    title: str
    content_type: str
    size_bytes: int
    sha256: str
    storage_name: str


CONVERSIONS: UserRows[ConversionRow] = UserRows("transactions_conversion", ConversionRow._fields[3:], ConversionRow)
DOCUMENTS: UserRows[DocumentRow] = UserRows(
    "transactions_document", (*DocumentRow._fields[3:-1], "encode(sha256, 'hex')"), DocumentRow
)

_FIND_DOCUMENT = """
    SELECT id, document_id, title, content_type, size_bytes, encode(sha256, 'hex'), storage_name
      FROM transactions_document WHERE document_id = %s AND user_id = %s
"""
_COUNT_FAULT = """
    INSERT INTO transactions_documentfault AS fault (document_id, cause, count) VALUES (%s, %s, 1)
        ON CONFLICT (document_id, cause) DO UPDATE SET count = fault.count + 1, last_at = now()
"""


def find_document(user_id: str, document_id: uuid.UUID) -> PublishedFile | None:
    """The user's document, or None."""
    row = statements.fetch_one(_FIND_DOCUMENT, (document_id, user_id))
    return None if row is None else PublishedFile._make(row)


def count_fault(document_pk: int, cause: str) -> None:
    """Count a failure to send a document, with its time."""
    statements.run(_COUNT_FAULT, (document_pk, cause))
