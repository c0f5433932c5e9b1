"""All rows of a list, however many: a bounded number of them in memory."""

from collections.abc import Callable, Iterator

from transactions import keyset
from transactions.keyset import MOST_ROWS, Position, Row

# With one that tells whether anything follows.
ROWS_AT_ONCE = MOST_ROWS - 1


def all_rows(fetch: Callable[[Position | None, int], list[Row]]) -> Iterator[Row]:
    """The rows of a list from its beginning to its end, ROWS_AT_ONCE a statement.

    fetch: given where to begin (that row included) and how many, the rows from there on.
    """
    rows = fetch(None, ROWS_AT_ONCE + 1)
    while rows:
        yield from rows[:ROWS_AT_ONCE]
        # The row beyond is where the next statement begins.
        rows = fetch(keyset.position(rows[-1]), ROWS_AT_ONCE + 1) if len(rows) > ROWS_AT_ONCE else []
