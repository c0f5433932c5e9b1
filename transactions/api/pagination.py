"""Pages of a user's lists: contract, section 6.

Rows are never deleted, so the row that a cursor names still exists. The next page is read from that row on, and a
cursor without a row is not one of this list.
"""

from partners.api.errors import invalid_parameter
from partners.api.pagination import NOT_A_CURSOR, KeysetPagination
from transactions import keyset
from transactions.keyset import Position, Row


class CursorPagination(KeysetPagination[Position]):
    """Takes a page of rows."""

    def parse(self, cursor: str) -> Position | None:
        """The position that a cursor names; None if it is malformed."""
        return Position.parse(cursor)

    @property
    def count(self) -> int:
        """The number of rows to read: the cursor's own, the page, and one that tells whether more follow."""
        return self.limit + (1 if self.start is None else 2)

    def after_start(self, rows: list[Row]) -> list[Row]:
        """The rows after the cursor's own, which is the first. Raises BadRequestError for a cursor of another list."""
        if not rows or not rows[0].created_at or keyset.position(rows[0]) != self.start:
            raise invalid_parameter("cursor", NOT_A_CURSOR)
        return rows[1:]

    def cursor_of(self, row: Row) -> str:
        """The cursor that names a row."""
        return keyset.position(row).cursor()
