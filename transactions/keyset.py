"""The one query behind every list of a user's rows: a page of them, newest first, and the user.

Values come as the text that PostgreSQL writes (numeric's own is plain notation with the digits as recorded), so that a
row needs next to no conversion.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from django.db import DEFAULT_DB_ALIAS
from psycopg.rows import RowMaker

from partners.db import statements
from partners.db.statements import Query
from transactions.positions import MOST_ROWS, Position

# Rows of a page of the default size, with the one before it and one that tells whether anything follows.
DEFAULT_ROWS = 27


class Owner(NamedTuple):
    """Whose list it is: a user, as partners name them."""

    partner_id: int
    external_id: str


class ListedRow(Protocol):
    """A row of a list; text throughout. Of a user without any rows there is one, and its created_at is None."""

    @property
    def user_id(self) -> str:
        """The user's."""

    @property
    def created_at(self) -> str:
        """For statements.rfc_3339_from_text."""

    @property
    def tiebreak(self) -> str:
        """What orders rows of one instant."""


Row = TypeVar("Row", bound=ListedRow)
_FROM_START = "AND (created_at, tiebreak) <= ((SELECT %s::timestamptz), (SELECT %s::bigint))"


def position(row: ListedRow) -> Position:
    """The row's position in its user's list."""
    return Position(statements.rfc_3339_from_text(row.created_at), int(row.tiebreak))


class UserRows(Generic[Row]):
    """The rows of a table that belong to a user."""

    def __init__(self, table: str, columns: Sequence[str], row_class: type[Any]) -> None:
        """table: with `user_id`, and an index on (user_id, created_at, tiebreak).

        row_class: a NamedTuple of `user_id`, `created_at`, `tiebreak` and the other columns in their order.
        """
        listed = ", ".join(("created_at", "tiebreak", *columns))
        # PostgreSQL plans such a statement once and for all if its values cannot make a plan look cheaper. So the inner
        # limit, which tells how little is asked for, is a number, and the start is hidden from the planner by SELECT.
        self._statements = {
            (has_start, most): f"""
                SELECT owner.id, page.*
                  FROM users_user owner
                  LEFT JOIN LATERAL (
                       SELECT {listed} FROM {table}
                        WHERE user_id = owner.id
                              {_FROM_START if has_start else ""}
                        ORDER BY created_at DESC, tiebreak DESC LIMIT {most}) page ON true
                 WHERE owner.partner_id = %s AND owner.external_id = %s
                 ORDER BY page.created_at DESC, page.tiebreak DESC LIMIT %s
            """
            for has_start in (False, True)
            for most in (DEFAULT_ROWS, MOST_ROWS)
        }
        # As row_class._make does, without a call of Python for each row.
        self._row: RowMaker[Row] = partial(tuple.__new__, row_class)

    def query(self, owner: Owner, start: Position | None, count: int) -> Query[Row]:
        """At most `count` rows of the user, newest first, from the row at `start` on (that row included).

        It returns no row where there is no such user, one without created_at where the user has none.
        Raises ValueError for more than MOST_ROWS.
        """
        if count > MOST_ROWS:
            raise ValueError("More rows than a statement gives.")
        statement = self._statements[start is not None, DEFAULT_ROWS if count <= DEFAULT_ROWS else MOST_ROWS]
        parameters = (*(start or ()), *owner, count)
        return Query(statement, parameters, self._row, as_text=True)

    def fetch(self, owner: Owner, start: Position | None, count: int, using: str = DEFAULT_DB_ALIAS) -> list[Row]:
        """The rows of such a query. using: the database's alias."""
        return statements.fetch(self.query(owner, start, count), using)


def present(rows: list[Row]) -> list[Row]:
    """The rows without the one that stands for none."""
    return rows if rows and rows[0].created_at else []
