"""What the lists of a user share: contract, section 6."""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from django.http import HttpResponse
from rest_framework.serializers import BaseSerializer

from partners.api.errors import invalid_fields
from partners.api.views import PartnerAPIView
from transactions import replica
from transactions.pagination import CursorPagination, Position
from users.fields import external_id_problems
from users.profile import find_user


class UserList(PartnerAPIView):
    """A list of one user's rows, newest first. A subclass names where its rows come from and how one is shown."""

    serializer: ClassVar[BaseSerializer[Any]]
    # Given a user, where to begin (None: at the newest), how many at most, and the database's alias: the rows.
    rows: ClassVar[Callable[[uuid.UUID, Position | None, int, str], list[Any]]]

    def page(self, external_id: str) -> HttpResponse:
        """The page that the query asks for. Raises BadRequestError and NotFoundError."""
        problems = external_id_problems(external_id)
        pagination = CursorPagination(self.received.parameters(), problems)
        if problems:
            raise invalid_fields(problems)
        user = find_user(partner_id=self.caller.partner_id, external_id=external_id)
        rows, next_cursor = pagination.page(partial(replica.page, type(self).rows, user.id))
        return self.read(
            {
                "externalId": user.external_id,
                "userId": str(user.id),
                "nextCursor": next_cursor,
                "items": [self.serializer.to_representation(row) for row in rows],
            }
        )
