"""The first round trip to the database: the query for the API key and, where both are known, the view's query.

Every request reads its key, so that a revoked one is refused by the next, in every process. A read needs another,
for the partner's rows. A process that has seen the key before knows the partner, so it sends both together, which saves
a round trip. Authentication calls `find_caller`, the view `fetch`.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rest_framework.exceptions import APIException

from partners.authentication import keys
from partners.authentication.keys import Caller
from partners.db import statements
from partners.db.statements import Query

# Builds the view's query, if it has one, from the partner's id, without side effects. Raises APIException.
QueryFactory = Callable[[int], Query[Any] | None]


class FirstRoundTrip:
    """The first queries of one request. prefetched_rows: of the view's query, if it was sent with the key's."""

    def __init__(self, get_query: QueryFactory | None = None) -> None:
        self._get_query = get_query
        self.prefetched_rows: list[Any] | None = None

    def find_caller(self, key_digest: bytes, is_signed: Callable[[str], bool]) -> Caller | None:
        """The caller with this API key, read now. Raises Django's database errors.

        is_signed: whether the request is signed under a secret. The view's query is sent too only if it is under the
        last known one: nobody else causes further reads, or learns anything from the time that they would take.
        """
        last, queries = keys.last_caller(key_digest), []
        if self._get_query and is_signed(last.secret):
            with suppress(APIException):  # `fetch` raises it again, after authentication
                query = self._get_query(last.partner_id)
                queries = [query] if query else []
        caller, rows = keys.find_caller(key_digest, *queries)
        if rows:
            (self.prefetched_rows,) = rows
        return caller

    def fetch(self, partner_id: int) -> list[Any]:
        """The rows of the view's query, sent now if it was not before. Raises APIException and database errors."""
        if self.prefetched_rows is not None:
            return self.prefetched_rows
        query = self._get_query(partner_id) if self._get_query else None
        return statements.fetch(query) if query else []
