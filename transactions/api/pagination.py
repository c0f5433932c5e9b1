"""Pages of lists: contract, section 6.

Rows are never deleted, so the row that a cursor names still exists. The next page is read from that row on, and a
cursor without a row is not one of this list.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from rest_framework.request import Request

from partners.api.errors import BadRequestError, invalid_parameter
from partners.api.json import rfc_3339
from partners.api.pagination import NOT_A_CURSOR, KeysetPagination
from transactions import keyset
from transactions.keyset import Position

Row = TypeVar("Row")


class CursorPagination(KeysetPagination[Position]):
    """Takes a page of rows."""

    def parse(self, cursor: str) -> Position | None:
        """The position that a cursor names; None if it is malformed."""
        return Position.parse(cursor)

    @property
    def count(self) -> int:
        """The number of rows to read: the cursor's own, the page, and one that tells whether more follow."""
        return self.limit + (1 if self.start is None else 2)

    def paginate_queryset(
        self,
        queryset: QuerySet[Any],  # type: ignore[override]
        request: HttpRequest | Request,
        view: object = None,
    ) -> list[Any]:
        """The page of a queryset of conversions or documents. Raises BadRequestError."""
        if errors := self.read(dict(request.GET.lists())):
            raise BadRequestError(field_errors=errors)
        ordered = queryset.order_by("-created_at", "-tiebreak")
        if self.start is not None:
            at, tiebreak = self.start
            ordered = ordered.filter(Q(created_at__lt=at) | Q(created_at=at, tiebreak__lte=tiebreak))
        rows = list(ordered[: self.count])
        return self.paginate_rows(rows, lambda row: Position(rfc_3339(row.created_at), row.tiebreak))

    def paginate_rows(self, rows: list[Row], position: Callable[[Any], Position] = keyset.position) -> list[Row]:
        """The page of the first `count` rows from `start` on. Raises BadRequestError for a cursor of another list."""
        if self.start is not None:
            if not rows or position(rows[0]) != self.start:
                raise invalid_parameter("cursor", NOT_A_CURSOR)
            rows = rows[1:]
        if len(rows) > self.limit:
            rows = rows[: self.limit]
            self.next_cursor = position(rows[-1]).cursor()
        return rows
