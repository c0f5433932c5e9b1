"""The prepared statements on documents. A list's values come as the text that PostgreSQL writes."""

import uuid
from functools import partial
from typing import NamedTuple

from django.db import DEFAULT_DB_ALIAS
from psycopg.rows import RowMaker

from partners import sql
from partners.keys import PARTNER
from transactions.positions import MOST_ROWS, Owner, Position

_COLUMNS = """
    created_at, tiebreak, document_id, type, title, content_type, size_bytes, encode(sha256, 'hex'), user_id
"""
# A row is read by its owner's names: to look the owner up first would be a statement more.
_OWNER = f"(SELECT id FROM users_user WHERE partner_id = {PARTNER} AND external_id = %s)"
# The inner limit is a number, so that the planner sees how little it is asked for, and plans once and for all.
_NEWEST = f"""
    SELECT {_COLUMNS}
      FROM (SELECT * FROM transactions_document WHERE user_id = {_OWNER}
             ORDER BY created_at DESC, tiebreak DESC LIMIT {MOST_ROWS}) page
     ORDER BY created_at DESC, tiebreak DESC LIMIT %s
"""
_FROM_POSITION = f"""
    SELECT {_COLUMNS}
      FROM (SELECT * FROM transactions_document
             WHERE user_id = {_OWNER} AND (created_at, tiebreak) <= (%s::timestamptz, %s::bigint)
             ORDER BY created_at DESC, tiebreak DESC LIMIT {MOST_ROWS}) page
     ORDER BY created_at DESC, tiebreak DESC LIMIT %s
"""
_FIND = """
    SELECT id, document_id, title, content_type, size_bytes, encode(sha256, 'hex'), storage_name
      FROM transactions_document WHERE document_id = %s AND user_id = %s
"""
_COUNT_FAULT = """
    INSERT INTO transactions_documentfault AS fault (document_id, cause, count) VALUES (%s, %s, 1)
        ON CONFLICT (document_id, cause) DO UPDATE SET count = fault.count + 1, last_at = now()
"""


class DocumentRow(NamedTuple):
    """A document: text throughout. created_at: for sql.rfc_3339. sha256: lower-case hex."""

    created_at: str
    tiebreak: str
    document_id: str
    type: str
    title: str
    content_type: str
    size_bytes: str
    sha256: str
    user_id: str

    @property
    def position(self) -> Position:
        """Where the row stands in its user's list."""
        return Position(sql.rfc_3339(self.created_at), int(self.tiebreak))


class PublishedFile(NamedTuple):
    """What is needed to send a document's file. id: the row's. sha256: lower-case hex."""

    id: int
    document_id: uuid.UUID
    title: str
    content_type: str
    size_bytes: int
    sha256: str
    storage_name: str


# As DocumentRow._make does, without a call of Python for each row.
_row: RowMaker[DocumentRow] = partial(tuple.__new__, DocumentRow)


def page(owner: Owner, start: Position | None, count: int, using: str = DEFAULT_DB_ALIAS) -> list[DocumentRow]:
    """At most `count` documents of a user, newest first, from the row at `start` on (that row included).

    using: the database's alias. Raises ValueError for more than MOST_ROWS.
    """
    if count > MOST_ROWS:
        raise ValueError("More rows than a statement gives.")
    of_user = (*owner.partner, owner.external_id)
    if start is None:
        return sql.fetch_text(_row, _NEWEST, (*of_user, count), using)
    return sql.fetch_text(_row, _FROM_POSITION, (*of_user, *start, count), using)


def find(user_id: str, document_id: uuid.UUID) -> PublishedFile | None:
    """The user's document of this documentId; another user's is not found."""
    row = sql.fetch_one(_FIND, (document_id, user_id))
    return None if row is None else PublishedFile._make(row)


def count_fault(row_id: int, cause: str) -> None:
    """Counts that a document could not be sent whole, and keeps when. row_id: the document row's."""
    sql.run(_COUNT_FAULT, (row_id, cause))
