"""Pages of a partner's users: contract, section 12.

A cursor names the last user of a page: createdAt, with the userId's number as further digits of the fraction. The next
page begins after that user, whatever has become of its status meanwhile. A cursor without a user is none of this list.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.http import HttpResponse

from partners.api.errors import FieldError, invalid_parameter
from partners.api.json import JsonRenderer
from partners.api.pagination import NOT_A_CURSOR, KeysetPagination, code_of, single
from partners.api.response import JsonResponse
from partners.db.statements import rfc_3339_from_text
from users.models import Status
from users.queries import ListedUser, without_placeholder

# As many as the highest UUID has.
USER_ID_DIGITS = 39
CURSOR = rf"^\d{{4}}-\d{{2}}-\d{{2}}T\d{{2}}:\d{{2}}:\d{{2}}\.\d{{{6 + USER_ID_DIGITS}}}Z$"
NOT_A_STATUS = f"Must be one of: {', '.join(Status.values)}."

_CURSOR = re.compile(rf"(\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{6}})(\d{{{USER_ID_DIGITS}}})Z", re.ASCII)


class Start(NamedTuple):
    """The last user of the page before."""

    created_at: str
    user_id: str


class UserPagination(KeysetPagination[Start]):
    """Reads `cursor`, `limit` and `status`, and takes a page of users."""

    status: str | None = None
    next_cursor: str | None = None

    def parse(self, cursor: str) -> Start | None:
        """What a cursor names; None if it is malformed."""
        if not (match := _CURSOR.fullmatch(cursor)):
            return None
        created_at = f"{match[1]}Z"
        try:
            datetime.fromisoformat(created_at)
            return Start(created_at, str(UUID(int=int(match[2]))))
        except ValueError:
            return None

    def read(self, parameters: Any) -> list[FieldError]:
        """Read the query parameters; returns their errors."""
        errors = super().read(parameters)
        if "status" in parameters:
            self.status = single(parameters["status"])
            if self.status not in Status.values:
                errors.append(FieldError("status", NOT_A_STATUS, code_of(parameters["status"], "notAllowed")))
        return errors

    @property
    def count(self) -> int:
        """The number of rows to read: the page, and one that tells whether more follow."""
        return self.limit + 1

    def paginate_rows(self, rows: list[ListedUser]) -> list[ListedUser]:
        """The page of the first `count` rows after the cursor. Raises BadRequestError for one of another list."""
        if self.start is not None:
            if not rows:
                raise invalid_parameter("cursor", NOT_A_CURSOR)
            rows = without_placeholder(rows)
        if len(rows) > self.limit:
            rows = rows[: self.limit]
            created_at, number = rfc_3339_from_text(rows[-1].created_at), UUID(rows[-1].id).int
            self.next_cursor = f"{created_at[:-1]}{number:0{USER_ID_DIGITS}d}Z"
        return rows

    def get_paginated_response(self, data: Sequence[Any]) -> HttpResponse:  # type: ignore[override]
        """The response with a page."""
        return JsonResponse(200, JsonRenderer().render({"nextCursor": self.next_cursor, "items": data}))
