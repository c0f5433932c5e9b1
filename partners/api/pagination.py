"""The parameters of every list: contract, section 6."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.http import HttpResponse

from partners.api.errors import BadRequestError, FieldError
from partners.api.response import JsonRenderer, JsonResponse

DEFAULT_LIMIT = 25
MAX_LIMIT = 100
NOT_A_CURSOR = "Must be a nextCursor of this list, sent back unchanged; leave it out for the first page."

_WHOLE_NUMBER = re.compile(r"-?[0-9]+", re.ASCII)
_LIMIT = re.compile(r"0*([0-9]{1,3})")
Start = TypeVar("Start")


class KeysetPagination(ABC, Generic[Start]):
    """A page of a list, by `cursor` and `limit`. start: what the cursor names; None without one.

    Not DRF's BasePagination: the view's query begins at `start`, so there is no queryset to take a page of.
    """

    start: Start | None = None
    limit = DEFAULT_LIMIT
    next_cursor: str | None = None

    def __init__(self, parameters: Mapping[str, Sequence[str]]) -> None:
        """parameters: of the URL's query. errors: what is wrong with them."""
        self.errors = self.read(parameters)

    def require_valid(self) -> None:
        """Raise BadRequestError for parameters that are not valid."""
        if self.errors:
            raise BadRequestError(field_errors=self.errors)

    @property
    def count(self) -> int:
        """The number of rows to read: the page, and one that tells whether more follow."""
        return self.limit + 1

    @abstractmethod
    def parse(self, cursor: str) -> Start | None:
        """What a cursor names; None if it is malformed."""

    def read(self, parameters: Mapping[str, Sequence[str]]) -> list[FieldError]:
        """Read the query parameters; returns their errors."""
        errors = []
        if "cursor" in parameters:
            self.start = self.parse(single(parameters["cursor"]))
            if self.start is None:
                errors.append(FieldError("cursor", NOT_A_CURSOR, code_of(parameters["cursor"], "format")))
        if "limit" in parameters:
            text = single(parameters["limit"])
            match = _LIMIT.fullmatch(text)
            self.limit = int(match[1]) if match else 0
            if not 1 <= self.limit <= MAX_LIMIT:
                code = code_of(parameters["limit"], "range" if _WHOLE_NUMBER.fullmatch(text) else "format")
                errors.append(FieldError("limit", f"Must be a whole number from 1 to {MAX_LIMIT}.", code))
        return errors

    def after_start(self, rows: list[Any]) -> list[Any]:
        """The rows after the one that the cursor names, without a placeholder. Raises BadRequestError."""
        raise NotImplementedError

    def cursor_of(self, row: Any) -> str:
        """The cursor that names a row."""
        raise NotImplementedError

    def paginate_rows(self, rows: list[Any]) -> list[Any]:
        """The page of the first `count` rows. Raises BadRequestError for a cursor of another list.

        The row of a list without rows is a placeholder, whose created_at is None.
        """
        if self.start is not None:
            rows = self.after_start(rows)
        elif rows and rows[0].created_at is None:
            rows = []
        if len(rows) > self.limit:
            rows = rows[: self.limit]
            self.next_cursor = self.cursor_of(rows[-1])
        return rows

    def get_paginated_response(self, data: Sequence[Any], head: Mapping[str, object] = {}) -> HttpResponse:
        """The response with a page. head: fields before it, such as the user's."""
        body = {**head, "nextCursor": self.next_cursor, "items": data}
        return JsonResponse(200, JsonRenderer().render(body))


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
