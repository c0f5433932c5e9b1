"""The keyset query of every list of a user's rows, newest first: contract, section 6.

The cost of a page does not grow with its depth. A cursor names the last row of the page before: its createdAt, and
after the six fraction digits its tiebreak, which is random and so reveals nothing.

Values are the text that PostgreSQL writes (numeric with the digits as recorded), so that rows need hardly any
conversion.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from psycopg.rows import RowMaker

from core.database import statements
from core.database.query import Query
from core.formats.rfc_3339 import rfc_3339_from_text
from partners.api.pagination import DEFAULT_LIMIT, MAX_LIMIT, CursorFormat

# A page, the row before it, and one that tells whether more follow.
MAX_ROWS = MAX_LIMIT + 2
# The same for a page of the default size.
DEFAULT_ROWS = DEFAULT_LIMIT + 2
CURSOR = CursorFormat(19)
MAX_TIEBREAK = 2**63 - 1

_START = "((SELECT %s::timestamptz), (SELECT %s::bigint))"


class Position(NamedTuple):
    """The position of a row in a list. created_at: RFC 3339, UTC, `Z`, six fraction digits."""

    created_at: str
    tiebreak: int

    @classmethod
    def parse(cls, cursor: str) -> "Position | None":
        """The position that a cursor names; None if it is malformed."""
        found = CURSOR.parse(cursor)
        return cls(*found) if found and found[1] <= MAX_TIEBREAK else None

    def cursor(self) -> str:
        """The cursor that names this position."""
        return CURSOR.write(*self)


class Owner(NamedTuple):
    """The user of a list."""

    partner_id: int
    external_id: str


class ConversionRow(NamedTuple):
    """A conversion in a list. A user without rows has one placeholder, whose created_at is None."""

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
    """A document in a list, or a placeholder. sha256: lower-case hex."""

    user_id: str
    created_at: str
    tiebreak: str
    document_id: str
    type: str
    title: str
    content_type: str
    size_bytes: str
    sha256: str


Row = TypeVar("Row", bound=ConversionRow | DocumentRow)


def position(row: ConversionRow | DocumentRow) -> Position:
    """The row's position in its user's list."""
    return Position(rfc_3339_from_text(row.created_at), int(row.tiebreak))


class KeysetRows(Generic[Row]):
    """The rows of a table that belong to a user."""

    def __init__(self, table: str, columns: Sequence[str], row_class: type[Any], *, is_listed: str = "") -> None:
        """table: with an index on (user_id, created_at, tiebreak). row_class: those three, then `columns`.

        is_listed: an SQL condition on a row, true of all by default. The row at the start need not fulfil it: a cursor
        still works after its row has left the list.
        """
        listed = ", ".join(("created_at", "tiebreak", *columns))
        from_start = f"AND (created_at, tiebreak) <= {_START}"
        if is_listed:
            from_start += f" AND ({is_listed} OR (created_at, tiebreak) = {_START})"
        from_beginning = is_listed and f"AND {is_listed}"
        self._start_count = from_start.count(_START)
        # PostgreSQL uses a generic plan only if known values would not make a custom one look cheaper. So the inner
        # limit is a constant, and SELECT hides the start from the planner.
        self._statements = {
            (has_start, most): f"""
                SELECT owner.id, page.*
                  FROM users_user owner
                  LEFT JOIN LATERAL (
                       SELECT {listed} FROM {table}
                        WHERE user_id = owner.id
                              {from_start if has_start else from_beginning}
                        ORDER BY created_at DESC, tiebreak DESC LIMIT {most}) page ON true
                 WHERE owner.partner_id = %s AND owner.external_id = %s
                 ORDER BY page.created_at DESC, page.tiebreak DESC LIMIT %s
            """
            for has_start in (False, True)
            for most in (DEFAULT_ROWS, MAX_ROWS)
        }
        # This is row_class._make, without a Python call for each row.
        self._row: RowMaker[Row] = partial(tuple.__new__, row_class)

    def query(self, owner: Owner, start: Position | None, count: int) -> Query[Row]:
        """At most `count` (up to MAX_ROWS) rows of the user, newest first, from the row at `start` on (included).

        It returns no row for an unknown user, and a placeholder for one without rows.
        """
        if count > MAX_ROWS:
            raise ValueError(f"At most {MAX_ROWS} rows can be read at once.")
        statement = self._statements[start is not None, DEFAULT_ROWS if count <= DEFAULT_ROWS else MAX_ROWS]
        parameters = (*(start or ()) * self._start_count, *owner, count)
        return Query(statement, parameters, self._row, as_text=True)

    def fetch(self, owner: Owner, start: Position | None, count: int) -> list[Row]:
        """The rows of this query, without the placeholder."""
        rows = statements.fetch(self.query(owner, start, count))
        return rows if rows and rows[0].created_at else []


_CONVERSIONS_BY_ID = f"""
    SELECT {", ".join(ConversionRow._fields)} FROM transactions_conversion
     WHERE partner_id = %s AND conversion_id = ANY(%s::text[])
"""


def conversions_by_id(partner_id: int, conversion_ids: Sequence[str]) -> list[ConversionRow]:
    """The partner's conversions with these conversionIds, in any order."""
    parameters = (partner_id, list(conversion_ids))
    return statements.fetch(Query(_CONVERSIONS_BY_ID, parameters, ConversionRow._make, as_text=True))


CONVERSIONS: KeysetRows[ConversionRow] = KeysetRows("transactions_conversion", ConversionRow._fields[3:], ConversionRow)
_DOCUMENT_COLUMNS = (*DocumentRow._fields[3:-1], "encode(sha256, 'hex')")
# Staff see all of them, the partner those that were not withdrawn.
PUBLISHED_DOCUMENTS: KeysetRows[DocumentRow] = KeysetRows("transactions_document", _DOCUMENT_COLUMNS, DocumentRow)
DOCUMENTS: KeysetRows[DocumentRow] = KeysetRows(
    "transactions_document",
    _DOCUMENT_COLUMNS,
    DocumentRow,
    is_listed="NOT EXISTS (SELECT FROM transactions_documentwithdrawal AS withdrawal"
    " WHERE withdrawal.document_id = transactions_document.id)",
)
