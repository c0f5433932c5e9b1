"""Pages of a partner's users: contract, section 12.

A cursor names the last user of a page: createdAt, with the userId's number as further digits of the fraction. The next
page begins after that user, whatever its status is now. A cursor without a user is not of this list.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from core.database.query import Query
from partners.api.errors import FieldError
from partners.api.lists import KeysetList, Page
from partners.api.pagination import CursorFormat, KeysetPagination, code_of, single
from users.models import Status, User

# The highest UUID has so many digits.
CURSOR = CursorFormat(39)
NOT_A_STATUS = f"Must be one of: {', '.join(Status.values)}."

USERS = KeysetList(
    table="users_user",
    item=User.wire,
    owner="SELECT %s::bigint AS id",
    of_owner="partner_id = owner.id",
    key={"created_at": "timestamptz", "id": "uuid"},
)
USERS_OF_STATUS = replace(USERS, owner="SELECT %s::bigint AS id, %s::text AS status", is_listed="status = owner.status")


class UserPagination(KeysetPagination):
    """Reads `cursor`, `limit` and `status`."""

    status: str | None = None

    def parse(self, cursor: str) -> tuple[str, UUID] | None:
        """The createdAt and userId that a cursor names; None if it is malformed."""
        created_at, number = CURSOR.parse(cursor) or ("", -1)
        return (created_at, UUID(int=number)) if 0 <= number < 1 << 128 else None

    def cursor_of(self, position: Sequence[Any]) -> str:
        """The cursor that names a position."""
        created_at, user_id = position
        return CURSOR.write(created_at, UUID(user_id).int)

    def read(self, parameters: Mapping[str, Sequence[str]]) -> list[FieldError]:
        """Read the query parameters; returns their errors."""
        errors = super().read(parameters)
        if "status" in parameters:
            self.status = single(parameters["status"])
            if self.status not in Status.values:
                errors.append(FieldError("status", NOT_A_STATUS, code_of(parameters["status"], "notAllowed")))
        return errors

    def query(self, partner_id: int) -> Query[Page]:
        """The query of the page. Raises BadRequestError for parameters that are not valid."""
        self.require_valid()
        if self.status is None:
            return USERS.page((partner_id,), self.start, self.limit)
        return USERS_OF_STATUS.page((partner_id, self.status), self.start, self.limit)
