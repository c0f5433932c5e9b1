"""Pages of a partner's users: contract, section 12.

A cursor names createdAt and userId of the last user of a page. The next page begins after it, whatever has become of
that user's status meanwhile.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.http import HttpResponse

from partners.api.errors import FieldError
from partners.api.json import JsonRenderer
from partners.api.pagination import KeysetPagination, code_of, single
from partners.api.response import JsonResponse
from partners.db.statements import rfc_3339_from_text
from users.models import Status
from users.queries import ListedUser

CURSOR = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
NOT_A_STATUS = f"Must be one of: {', '.join(Status.values)}."

_CURSOR = re.compile(CURSOR, re.ASCII)


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
        if not _CURSOR.fullmatch(cursor):
            return None
        created_at, user_id = cursor[:27], cursor[28:]
        try:
            datetime.fromisoformat(created_at)
        except ValueError:
            return None
        return Start(created_at, user_id)

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
        """The page of the first `count` rows after the cursor."""
        if len(rows) > self.limit:
            rows = rows[: self.limit]
            self.next_cursor = f"{rfc_3339_from_text(rows[-1].created_at)}.{rows[-1].id}"
        return rows

    def get_paginated_response(self, data: Sequence[Any]) -> HttpResponse:  # type: ignore[override]
        """The response with a page."""
        return JsonResponse(200, JsonRenderer().render({"nextCursor": self.next_cursor, "items": data}))
