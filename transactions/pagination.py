"""Lists by pages: contract, section 6. Keyset: the cost of a page does not grow with its depth.

A cursor names the last row of the page before: its createdAt, and behind the six fraction digits
its tiebreak, which is random and so tells nothing. Rows are never deleted, so that row is there;
the next page is read from it on, and a cursor that no row answers to was never given.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from rest_framework.pagination import BasePagination

from partners.api.errors import FieldError, invalid_parameter
from partners.keys import PartnerRef

DEFAULT_LIMIT = 25
HIGHEST_LIMIT = 100
# A page with the row before it, and one that tells whether anything follows.
MOST_ROWS = HIGHEST_LIMIT + 2
TIEBREAK_DIGITS = 19
HIGHEST_TIEBREAK = 2**63 - 1

_CURSOR = re.compile(rf"(\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{6}})(\d{{{TIEBREAK_DIGITS}}})Z", re.ASCII)
_DIGITS = re.compile(r"[0-9]+")
NOT_A_CURSOR = "Must be a nextCursor of this list."


class Position(NamedTuple):
    """Where a row stands in a list. created_at: RFC 3339, UTC, `Z`, six fraction digits."""

    created_at: str
    tiebreak: int

    @classmethod
    def parse(cls, cursor: str) -> "Position | None":
        """The position that a cursor names, or None where it has not the form of one."""
        match = _CURSOR.fullmatch(cursor)
        if match is None or int(match[2]) > HIGHEST_TIEBREAK:
            return None
        try:
            datetime.fromisoformat(match[1])
        except ValueError:
            return None
        return cls(match[1] + "Z", int(match[2]))

    def cursor(self) -> str:
        """The cursor that names this position: itself a valid RFC 3339 date-time."""
        return f"{self.created_at[:-1]}{self.tiebreak:0{TIEBREAK_DIGITS}}Z"


class Owner(NamedTuple):
    """Whose list it is: a user, as partners name them."""

    partner: PartnerRef
    external_id: str

    @classmethod
    def of(cls, partner_id: int, external_id: str) -> "Owner":
        """The owner whose partner is certain."""
        return cls(PartnerRef(partner_id), external_id)


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
