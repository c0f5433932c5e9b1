"""Pages of a partner's users: contract, section 12.

A cursor names the last user of a page: createdAt, with the userId's number as further digits of the fraction. The next
page begins after that user, whatever its status is now. A cursor without a user is not of this list.
"""

from typing import Any, NamedTuple
from uuid import UUID

from core.formats.rfc_3339 import rfc_3339_from_text
from partners.api.errors import FieldError, invalid_parameter
from partners.api.pagination import NOT_A_CURSOR, CursorFormat, KeysetPagination, code_of, single
from users.models import Status
from users.queries import ListedUser

# The highest UUID has so many digits.
CURSOR = CursorFormat(39)
NOT_A_STATUS = f"Must be one of: {', '.join(Status.values)}."


class Start(NamedTuple):
    """The last user of the page before."""

    created_at: str
    user_id: str


class UserPagination(KeysetPagination[Start]):
    """Reads `cursor`, `limit` and `status`, and takes a page of users."""

    status: str | None = None

    def parse(self, cursor: str) -> Start | None:
        """What a cursor names; None if it is malformed."""
        created_at, number = CURSOR.parse(cursor) or ("", -1)
        return Start(created_at, str(UUID(int=number))) if 0 <= number < 1 << 128 else None

    def read(self, parameters: Any) -> list[FieldError]:
        """Read the query parameters; returns their errors."""
        errors = super().read(parameters)
        if "status" in parameters:
            self.status = single(parameters["status"])
            if self.status not in Status.values:
                errors.append(FieldError("status", NOT_A_STATUS, code_of(parameters["status"], "notAllowed")))
        return errors

    def after_start(self, rows: list[ListedUser]) -> list[ListedUser]:
        """The users after the cursor's. Raises BadRequestError where the partner has no such user."""
        if not rows:
            raise invalid_parameter("cursor", NOT_A_CURSOR)
        return rows if rows[0].created_at else []

    def cursor_of(self, row: ListedUser) -> str:
        """The cursor that names a user."""
        return CURSOR.write(rfc_3339_from_text(row.created_at), UUID(row.id).int)
