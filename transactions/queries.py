"""The prepared statements on conversions.

Values come as the text that PostgreSQL writes (numeric's own is plain notation with the digits as
recorded), so that a row needs next to no conversion.
"""

from functools import partial
from typing import NamedTuple

from django.db import DEFAULT_DB_ALIAS
from psycopg.rows import RowMaker

from partners import sql
from partners.keys import PARTNER
from transactions.positions import MOST_ROWS, Owner, Position

_COLUMNS = """
    created_at, tiebreak, conversion_id, type, from_currency, from_amount, to_currency, to_amount, rate, user_id
"""
# A row is read by its owner's names: to look the owner up first would be a statement more.
_OWNER = f"(SELECT id FROM users_user WHERE partner_id = {PARTNER} AND external_id = %s)"
# The inner limit is a number, so that the planner sees how little it is asked for, and plans once and for all.
_NEWEST = f"""
    SELECT {_COLUMNS}
      FROM (SELECT * FROM transactions_conversion WHERE user_id = {_OWNER}
             ORDER BY created_at DESC, tiebreak DESC LIMIT {MOST_ROWS}) page
     ORDER BY created_at DESC, tiebreak DESC LIMIT %s
"""
_FROM_POSITION = f"""
    SELECT {_COLUMNS}
      FROM (SELECT * FROM transactions_conversion
             WHERE user_id = {_OWNER} AND (created_at, tiebreak) <= (%s::timestamptz, %s::bigint)
             ORDER BY created_at DESC, tiebreak DESC LIMIT {MOST_ROWS}) page
     ORDER BY created_at DESC, tiebreak DESC LIMIT %s
"""


class ConversionRow(NamedTuple):
    """A conversion: text throughout. created_at: for sql.rfc_3339."""

    created_at: str
    tiebreak: str
    conversion_id: str
    type: str
    from_currency: str
    from_amount: str
    to_currency: str
    to_amount: str
    rate: str
    user_id: str

    @property
    def position(self) -> Position:
        """Where the row stands in its user's list."""
        return Position(sql.rfc_3339(self.created_at), int(self.tiebreak))


# As ConversionRow._make does, without a call of Python for each row.
_row: RowMaker[ConversionRow] = partial(tuple.__new__, ConversionRow)


def page(owner: Owner, start: Position | None, count: int, using: str = DEFAULT_DB_ALIAS) -> list[ConversionRow]:
    """At most `count` conversions of a user, newest first, from the row at `start` on (that row included).

    using: the database's alias. Raises ValueError for more than MOST_ROWS.
    """
    if count > MOST_ROWS:
        raise ValueError("More rows than a statement gives.")
    of_user = (*owner.partner, owner.external_id)
    if start is None:
        return sql.fetch_text(_row, _NEWEST, (*of_user, count), using)
    return sql.fetch_text(_row, _FROM_POSITION, (*of_user, *start, count), using)
