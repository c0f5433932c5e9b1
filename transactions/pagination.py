"""Lists by pages: contract, section 6.

Rows are never deleted, so the row that a cursor names (transactions/positions.py) is there; the next page is read from
it on, and a cursor that no row answers to was never given.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rest_framework.pagination import BasePagination

from partners.api.errors import FieldError, invalid_parameter
from transactions.positions import HIGHEST_LIMIT, Position

DEFAULT_LIMIT = 25
NOT_A_CURSOR = "Must be a nextCursor of this list."

_DIGITS = re.compile(r"[0-9]+")


class CursorPagination(BasePagination):
    """Reads `cursor` and `limit`, fetches a page, and says where the next one begins."""

    def __init__(self, parameters: Mapping[str, Sequence[str]], problems: list[FieldError]) -> None:
        """parameters: the query's values by name. What is wrong with them is added to `problems`."""
        self.after: Position | None = None
        self.limit = DEFAULT_LIMIT
        if "cursor" in parameters:
            given = _single(parameters["cursor"])
            self.after = None if given is None else Position.parse(given)
            if self.after is None:
                problems.append(FieldError("cursor", NOT_A_CURSOR))
        if "limit" in parameters:
            given = _single(parameters["limit"]) or ""
            self.limit = int(given[-12:]) if _DIGITS.fullmatch(given) and not given[:-12].strip("0") else 0
            if not 1 <= self.limit <= HIGHEST_LIMIT:
                problems.append(FieldError("limit", f"Must be a whole number from 1 to {HIGHEST_LIMIT}."))

    def page(self, fetch: Callable[[Position | None, int], list[Any]]) -> tuple[list[Any], str | None]:
        """The rows of the page, newest first, and the next page's cursor, or None where nothing follows.

        fetch: given where to begin (that row included) and how many, the rows from there on, each with
        a `position`. Raises BadRequestError where the cursor was never given for this list.
        """
        # One row more than asked tells whether anything follows.
        if self.after is None:
            rows = fetch(None, self.limit + 1)
        else:
            rows = fetch(self.after, self.limit + 2)
            if not rows or rows.pop(0).position != self.after:
                raise invalid_parameter("cursor", NOT_A_CURSOR)
        if len(rows) <= self.limit:
            return rows, None
        del rows[self.limit :]
        return rows, rows[-1].position.cursor()


def _single(values: Sequence[str]) -> str | None:
    """The value of a parameter that is given once and not empty."""
    return values[0] if len(values) == 1 and values[0] else None
