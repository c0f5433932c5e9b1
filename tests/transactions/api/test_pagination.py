"""CursorPagination on a queryset, as a view of the back office would use it."""

import json
from datetime import UTC, datetime

import pytest
from django.test import RequestFactory
from rest_framework.request import Request

from partners.api.errors import BadRequestError
from tests import factories
from tests.support.client import PartnerClient
from tests.support.transports import transport
from transactions.api.pagination import CursorPagination
from transactions.models import Conversion
from users.models import User

__all__ = ("transport",)

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


@pytest.fixture
def ada(api: PartnerClient) -> User:
    """A user with seven conversions, five of them of one instant."""
    user = User.objects.get(pk=api.post("/v1/users", factories.user_body()).json()["userId"])
    factories.add_conversions(user, [NOON, NOON, NOON, NOON, NOON, NOON.replace(hour=11), NOON.replace(hour=13)])
    return user


@pytest.mark.parametrize("wrap", [lambda request: request, Request], ids=["Django", "DRF"])
@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 8])
def test_all_rows_of_a_queryset_are_paged_once_and_newest_first(ada: User, limit: int, wrap: type[Request]) -> None:
    queryset, seen, cursor = Conversion.objects.filter(user=ada), list[int](), ""
    while True:
        paginator = CursorPagination()
        parameters = {"limit": str(limit)} | ({"cursor": cursor} if cursor else {})
        page = paginator.paginate_queryset(queryset, wrap(RequestFactory().get("/", parameters)))
        assert len(page) <= limit
        seen += [row.pk for row in page]
        body = json.loads(paginator.get_paginated_response([row.pk for row in page]).content)
        assert body["items"] == [row.pk for row in page]
        cursor = body["nextCursor"]
        if cursor is None:
            break
    assert seen == list(queryset.order_by("-created_at", "-tiebreak").values_list("pk", flat=True))


def test_the_cursors_of_a_queryset_are_those_of_the_api(ada: User, api: PartnerClient) -> None:
    answer = api.get(f"/v1/users/{ada.external_id}/transactions?limit=3").json()
    paginator = CursorPagination()
    paginator.paginate_queryset(Conversion.objects.filter(user=ada), RequestFactory().get("/", {"limit": "3"}))
    assert paginator.next_cursor == answer["nextCursor"]


@pytest.mark.parametrize("parameters", [{"limit": "0"}, {"cursor": "x"}, {"cursor": "2026-01-15T12:00:00.0000001Z"}])
def test_parameters_are_validated(ada: User, parameters: dict[str, str]) -> None:
    with pytest.raises(BadRequestError):
        CursorPagination().paginate_queryset(Conversion.objects.filter(user=ada), RequestFactory().get("/", parameters))
