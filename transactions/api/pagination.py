"""Lists by pages: contract, section 6.

Rows are never deleted, so the row that a cursor names (transactions/positions.py) is there; the next page is read from
it on, and a cursor that no row answers to was never given.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from rest_framework.pagination import BasePagination
from rest_framework.request import Request

from partners.api.errors import FieldError, invalid_fields, invalid_parameter
from partners.api.json import JsonRenderer, rfc_3339
from partners.api.response import JsonResponse
from transactions import keyset
from transactions.positions import HIGHEST_LIMIT, Position

DEFAULT_LIMIT = 25
NOT_A_CURSOR = "Must be a nextCursor of this list."

_DIGITS = re.compile(r"[0-9]+")
Row = TypeVar("Row")


class CursorPagination(BasePagination):
    """Reads `cursor` and `limit`, takes a page, and says where the next one begins."""

    start: Position | None = None
    limit = DEFAULT_LIMIT
    next_cursor: str | None = None

    def read(self, parameters: Mapping[str, Sequence[str]]) -> list[FieldError]:
        """Reads the query's values by name; returns what is wrong with them."""
        problems = []
        if "cursor" in parameters:
            given = _single(parameters["cursor"])
            self.start = None if given is None else Position.parse(given)
            if self.start is None:
                problems.append(FieldError("cursor", NOT_A_CURSOR))
        if "limit" in parameters:
            given = _single(parameters["limit"]) or ""
            self.limit = int(given[-12:]) if _DIGITS.fullmatch(given) and not given[:-12].strip("0") else 0
            if not 1 <= self.limit <= HIGHEST_LIMIT:
                problems.append(FieldError("limit", f"Must be a whole number from 1 to {HIGHEST_LIMIT}."))
        return problems

    @property
    def count(self) -> int:
        """How many rows to read: the cursor's own, and one that tells whether anything follows, with the page."""
        return self.limit + (1 if self.start is None else 2)

    def paginate_queryset(
        self,
        queryset: QuerySet[Any],  # type: ignore[override]
        request: HttpRequest | Request,
        view: object = None,
    ) -> list[Any]:
        """The page of a queryset of conversions or documents. Raises BadRequestError for parameters and cursor."""
        if problems := self.read(dict(request.GET.lists())):
            raise invalid_fields(problems)
        ordered = queryset.order_by("-created_at", "-tiebreak")
        if self.start is not None:
            at, tiebreak = self.start
            ordered = ordered.filter(Q(created_at__lt=at) | Q(created_at=at, tiebreak__lte=tiebreak))
        rows = list(ordered[: self.count])
        return self.take(rows, [Position(rfc_3339(row.created_at), row.tiebreak) for row in rows])

    def paginate_rows(self, rows: list[keyset.Row]) -> list[keyset.Row]:
        """The page of the first `count` rows from `start` on. Raises BadRequestError for a cursor of another list."""
        edges = {0, self.limit} if self.start is not None else {self.limit - 1}
        return self.take(rows, {at: keyset.position(rows[at]) for at in edges if at < len(rows)})

    def take(self, rows: list[Row], positions: Any) -> list[Row]:
        """The page of rows; positions: of those at its edges, by index."""
        if self.start is not None:
            if not rows or positions[0] != self.start:
                raise invalid_parameter("cursor", NOT_A_CURSOR)
            rows = rows[1:]
        if len(rows) <= self.limit:
            return rows
        self.next_cursor = positions[self.limit - (self.start is None)].cursor()
        return rows[: self.limit]

    def get_paginated_response(self, data: list[Any], head: Mapping[str, object] = {}) -> HttpResponse:  # type: ignore[override]
        """The answer with a page. head: what comes before it, such as whose list it is."""
        body = {**head, "nextCursor": self.next_cursor, "items": data}
        return JsonResponse(200, JsonRenderer().render(body))


def _single(values: Sequence[str]) -> str | None:
    """The value of a parameter that is given once and not empty."""
    return values[0] if len(values) == 1 and values[0] else None
