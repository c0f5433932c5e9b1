"""Where a row stands in a user's list, and whose list it is: contract, section 6.

Keyset: the cost of a page does not grow with its depth. A cursor names the last row of the page before: its createdAt,
and behind the six fraction digits its tiebreak, which is random and so tells nothing.
"""

import re
from datetime import datetime
from typing import NamedTuple

HIGHEST_LIMIT = 100
# A page with the row before it, and one that tells whether anything follows.
MOST_ROWS = HIGHEST_LIMIT + 2
TIEBREAK_DIGITS = 19
HIGHEST_TIEBREAK = 2**63 - 1

_CURSOR = re.compile(rf"(\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{6}})(\d{{{TIEBREAK_DIGITS}}})Z", re.ASCII)


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
