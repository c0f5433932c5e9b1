"""The keyset query of every list of the API: contract, sections 6 and 10.

PostgreSQL writes a page's items (core/database/schema.py) in one row: Python would take four times as long to read and
show the rows. The cost of a page does not grow with its depth.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from core.database.pipeline import Query
from core.database.schema import wire_time

DEFAULT_LIMIT = 25
MAX_LIMIT = 100

# Before all rows, as the first column of a key: the newest are first by a time, the oldest by a number.
_BEGINNINGS = {"timestamptz": "infinity", "bigint": -1, "uuid": UUID(int=0)}


class Page(NamedTuple):
    """A page of a list. items: a JSON array.

    has_start: whether the start is a position of this list. owner: what the list shows of the owner. last: the position
    of the last row, nulls without rows.
    """

    items: str
    has_more: bool
    has_start: bool
    owner: Any
    last: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class KeysetList:
    """The rows of a table that belong to one owner, in the order of a key. Its texts are SQL."""

    table: str
    # A row on the wire.
    item: str
    # The query of the owner, with `%s` for each of its values.
    owner: str
    # The condition on the rows of `owner`; an index has its columns, and then those of the key.
    of_owner: str
    # The columns of the order, and their types.
    key: Mapping[str, str]
    is_oldest_first: bool = False
    # A further condition. A row that does not meet it is still a start: a cursor works after its row has left the list.
    is_listed: str = "true"
    # Whether the start, in columns `start_…` of `owner`, is one of this list; by default if the owner has such a row.
    has_start: str = ""
    # For Page.owner.
    shows: str = "NULL"

    def page(self, owner: Sequence[object], start: Sequence[object] | None, limit: int) -> Query[Page]:
        """The query of the first `limit` (up to MAX_LIMIT) rows, or of those after `start`; none for an unknown owner.

        owner: the values of its query. start: a position.
        """
        after = start or [_BEGINNINGS[kind] for kind in self.key.values()]
        return Query(self._statement, (*after, limit, *owner), _page)

    @cached_property
    def _statement(self) -> str:
        columns, starts = ", ".join(self.key), ", ".join(f"owner.start_{column}" for column in self.key)
        last = (f"(array_agg({column}))[LEAST(count(*), owner.size)] AS {column}" for column in self.key)
        after, direction = (">", "ASC") if self.is_oldest_first else ("<", "DESC")
        own_row = f"EXISTS (SELECT FROM {self.table} WHERE {self.of_owner} AND ({columns}) = ({starts}))"
        # PostgreSQL uses a generic plan only if known values would not make a custom one look cheaper: OFFSET 0 hides
        # them from the planner, and the inner limit is a constant.
        return f"""
            SELECT page.items, page.has_more, {self.has_start or own_row}, {self.shows}, {_last(self.key)}
              FROM (SELECT {", ".join(f"%s::{kind} AS start_{column}" for column, kind in self.key.items())},
                           %s::integer AS size, owner.* FROM ({self.owner}) AS owner OFFSET 0) AS owner
             CROSS JOIN LATERAL (
                   SELECT concat('[', array_to_string((array_agg({self.item}))[:owner.size], ','), ']') AS items,
                          count(*) > owner.size AS has_more,
                          {", ".join(last)}
                     FROM (SELECT * FROM (
                          SELECT * FROM {self.table}
                           WHERE {self.of_owner} AND {self.is_listed} AND ({columns}) {after} ({starts})
                           ORDER BY {", ".join(f"{column} {direction}" for column in self.key)}
                           LIMIT {MAX_LIMIT + 1}) AS bounded LIMIT owner.size + 1) AS read) AS page
        """


def _page(row: Sequence[Any]) -> Page:
    items, has_more, has_start, owner, *last = row
    return Page(items, has_more, has_start, owner, tuple(last))


def _last(key: Mapping[str, str]) -> str:
    shown = {"timestamptz": wire_time("page.{0}"), "uuid": "page.{0}::text", "bigint": "page.{0}"}
    return ", ".join(shown[kind].format(column) for column, kind in key.items())
