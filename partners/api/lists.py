"""The parameters and the keyset query of every list of the API: contract, sections 6 and 10.

PostgreSQL writes a page's items (core/database/schema.py) in one row: Python would take four times as long to read and
show the rows. The cost of a page does not grow with its depth.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

import orjson
from django.http import HttpResponse

from core.database.pipeline import Query
from core.database.schema import wire_time
from partners.api.errors import BadRequestError, FieldError, invalid_parameter
from partners.api.response import JsonResponse, encode

DEFAULT_LIMIT = 25
MAX_LIMIT = 100
NOT_A_CURSOR = "Must be a nextCursor of this list, sent back unchanged; leave it out for the first page."

_WHOLE_NUMBER = re.compile(r"-?[0-9]+", re.ASCII)
_LIMIT = re.compile(r"0*([0-9]{1,3})")

# Before all rows, as the first column of a key: of the newest or greatest first, of the oldest or least first.
_BEGINNINGS = {"timestamptz": ("infinity", "-infinity"), "bigint": (2**63 - 1, -1), "uuid": ("f" * 32, "0" * 32)}


class Page(NamedTuple):
    """A page. items: JSON. has_start: if the start is of this list. owner: what is shown. last: nulls without rows."""

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
        """The query of `limit` rows after the position `start`; none for an unknown `owner`, its query's values."""
        after = start or [_BEGINNINGS[kind][self.is_oldest_first] for kind in self.key.values()]
        return Query(self._statement, (*after, limit, *owner), lambda row: Page._make((*row[:4], row[4:])))

    @cached_property
    def _statement(self) -> str:
        columns, starts = ", ".join(self.key), ", ".join(f"owner.start_{column}" for column in self.key)
        last = (f"(array_agg({column}))[LEAST(count(*), owner.size)] AS {column}" for column in self.key)
        shown = {"timestamptz": wire_time("page.{0}"), "uuid": "page.{0}::text", "bigint": "page.{0}"}
        after, direction = (">", "ASC") if self.is_oldest_first else ("<", "DESC")
        own_row = f"EXISTS (SELECT FROM {self.table} WHERE {self.of_owner} AND ({columns}) = ({starts}))"
        # PostgreSQL uses a generic plan only if known values would not make a custom one look cheaper: OFFSET 0 hides
        # them from the planner, and the inner limit is a constant.
        return f"""
            SELECT page.items, page.has_more, {self.has_start or own_row}, {self.shows},
                   {", ".join(shown[kind].format(column) for column, kind in self.key.items())}
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


class LimitPagination:
    """The first rows of a list, by `limit`. Not DRF's BasePagination, which pages a queryset: there is none."""

    limit = DEFAULT_LIMIT

    def __init__(self, parameters: Mapping[str, Sequence[str]]) -> None:
        """parameters: of the URL's query. errors: what is wrong with them."""
        self.errors = self.read(parameters)

    def require_valid(self) -> None:
        """Raise BadRequestError for parameters that are not valid."""
        if self.errors:
            raise BadRequestError(field_errors=self.errors)

    def read(self, parameters: Mapping[str, Sequence[str]]) -> list[FieldError]:
        """Read the query parameters; returns their errors."""
        if "limit" not in parameters:
            return []
        text = single(parameters["limit"])
        match = _LIMIT.fullmatch(text)
        self.limit = int(match[1]) if match else 0
        if 1 <= self.limit <= MAX_LIMIT:
            return []
        code = code_of(parameters["limit"], "range" if _WHOLE_NUMBER.fullmatch(text) else "format")
        return [FieldError("limit", f"Must be a whole number from 1 to {MAX_LIMIT}.", code)]


class KeysetPagination(LimitPagination, ABC):
    """A page of a list, by `cursor` and `limit`. start: the position that the cursor names; None without one."""

    start: tuple[Any, ...] | None = None

    @abstractmethod
    def parse(self, cursor: str) -> tuple[Any, ...] | None:
        """The position that a cursor names; None if it is malformed."""

    @abstractmethod
    def cursor_of(self, position: Sequence[Any]) -> str:
        """The cursor that names a position."""

    def read(self, parameters: Mapping[str, Sequence[str]]) -> list[FieldError]:
        """Read the query parameters; returns their errors."""
        errors = []
        if "cursor" in parameters:
            self.start = self.parse(single(parameters["cursor"]))
            if self.start is None:
                errors.append(FieldError("cursor", NOT_A_CURSOR, code_of(parameters["cursor"], "format")))
        return errors + super().read(parameters)

    def get_paginated_response(self, page: Page, head: Mapping[str, object] = {}) -> HttpResponse:
        """The response with a page. head: fields before it, such as the user's. Raises BadRequestError."""
        if self.start is not None and not page.has_start:
            raise invalid_parameter("cursor", NOT_A_CURSOR)
        body = {**head, **self.next_of(page), "items": self.items_of(page)}
        return JsonResponse(200, encode(body))

    def items_of(self, page: Page) -> object:
        """The items as orjson takes them."""
        return orjson.Fragment(page.items)

    def next_of(self, page: Page) -> Mapping[str, object]:
        """The fields that say where the list goes on."""
        return {"nextCursor": self.cursor_of(page.last) if page.has_more else None}


class CursorFormat:
    """Cursors of a createdAt with further digits of its fraction, a number: themselves valid RFC 3339 date-times."""

    def __init__(self, digits: int) -> None:
        """digits: of the number."""
        self._digits = digits
        self.pattern = rf"^\d{{4}}-\d{{2}}-\d{{2}}T\d{{2}}:\d{{2}}:\d{{2}}\.\d{{{6 + digits}}}Z$"
        self._pattern = re.compile(rf"(\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{6}})(\d{{{digits}}})Z", re.ASCII)

    def parse(self, cursor: str) -> tuple[str, int] | None:
        """The createdAt (RFC 3339, UTC, six fraction digits) and the number; None if the cursor is malformed."""
        if (match := self._pattern.fullmatch(cursor)) is None:
            return None
        try:
            datetime.fromisoformat(match[1])
        except ValueError:
            return None
        return f"{match[1]}Z", int(match[2])

    def write(self, created_at: str, number: int) -> str:
        """The cursor of these."""
        return f"{created_at[:-1]}{number:0{self._digits}d}Z"


def single(values: Sequence[str]) -> str:
    """The value of a parameter that was sent once, otherwise nothing."""
    return values[0] if len(values) == 1 else ""


def code_of(values: Sequence[str], code: str) -> str:
    """The code of a parameter's error: `duplicate` if it was sent several times."""
    return code if len(values) == 1 else "duplicate"
