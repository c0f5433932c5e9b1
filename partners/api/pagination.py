"""The parameters of every list: contract, section 6."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from django.http import HttpResponse

from partners.api.errors import BadRequestError, FieldError, invalid_parameter
from partners.api.lists import DEFAULT_LIMIT, MAX_LIMIT, Page
from partners.api.response import JsonResponse

NOT_A_CURSOR = "Must be a nextCursor of this list, sent back unchanged; leave it out for the first page."

_WHOLE_NUMBER = re.compile(r"-?[0-9]+", re.ASCII)
_LIMIT = re.compile(r"0*([0-9]{1,3})")


class LimitPagination:
    """The first rows of a list without further pages, by `limit`.

    Not DRF's BasePagination: the view's query begins where the page does, so there is no queryset to take a page of.
    """

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
        return JsonResponse(200, orjson.dumps(body))

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
