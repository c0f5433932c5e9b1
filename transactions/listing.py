"""What the lists of a user share: contract, section 6."""

from collections.abc import Callable
from typing import Any, ClassVar

from partners.api.errors import invalid_fields
from partners.api.response import JsonResponse
from partners.api.views import PartnerAPIView
from transactions import replica
from transactions.pagination import CursorPagination
from transactions.positions import Owner, Position
from transactions.serializers import RowSerializer
from users.fields import external_id_problems
from users.profile import find_user


class UserList(PartnerAPIView):
    """A list of one user's rows, newest first. A subclass names where its rows come from and how one is shown."""

    serializer: ClassVar[RowSerializer[Any]]
    # Given an owner, where to begin (None: at the newest), how many at most, and the database's alias: the rows.
    rows: ClassVar[Callable[[Owner, Position | None, int, str], list[Any]]]

    def page(self, external_id: str) -> JsonResponse:
        """The page that the query asks for. Raises BadRequestError and NotFoundError."""
        problems = external_id_problems(external_id)
        pagination = CursorPagination(self.received.parameters(), problems)
        if problems:
            raise invalid_fields(problems)
        user_id = None
        if replica.is_configured():
            self.sender.confirmed()

        def fetch(start: Position | None, count: int) -> list[Any]:
            nonlocal user_id
            rows = self.sender.ask(
                lambda partner: replica.page(type(self).rows, Owner(partner, external_id), start, count)
            )
            # No rows may be of a user without any, or of none.
            user_id = rows[0].user_id if rows else find_user(sender=self.sender, external_id=external_id).id
            return rows

        rows, next_cursor = pagination.page(fetch)
        return self.read(
            {
                "externalId": external_id,
                "userId": user_id,
                "nextCursor": next_cursor,
                "items": self.serializer.items(rows),
            }
        )
