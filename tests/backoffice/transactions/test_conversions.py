"""The back office of conversions."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from backoffice.users.transactions import UserRowAdmin
from tests import factories
from tests.support.client import Response
from tests.support.staff import client_as
from transactions.models import Conversion
from users.models import User

CONVERSIONS = "/admin/transactions/conversion/"


@pytest.fixture
def conversion(user: User) -> Conversion:
    return make(user)


def make(user: User, **fields: object) -> Conversion:
    return factories.ConversionFactory.create(user=user, **fields)


def page_of(conversion: Conversion) -> str:
    return f"{CONVERSIONS}{conversion.pk}/change/"


def test_digits_are_shown_as_recorded(user: User) -> None:
    conversion = make(user, from_amount=Decimal("12345678.90"), rate=Decimal("0.000000000000000100"))
    client = client_as("viewer")
    for path in (CONVERSIONS, page_of(conversion)):
        page = client.get(path).content.decode()
        assert "12345678.90 CAD" in page
        assert "0.000000000000000100" in page


def test_list_and_page_say_whether_the_user_was_active(user: User) -> None:
    conversion = make(user)
    client = client_as("viewer")
    for path in (CONVERSIONS, page_of(conversion)):
        assert "Not active" not in client.get(path).content.decode()
    late = make(user, while_inactive=True)
    for path in (CONVERSIONS, page_of(late)):
        assert "Not active" in client.get(path).content.decode()


def test_filters_and_search_find_exactly(user: User, create_user: Callable[..., Response], other_api: object) -> None:
    mine = make(user, created_at=datetime(2026, 3, 1, tzinfo=UTC))
    earlier = make(user, created_at=datetime(2026, 2, 1, tzinfo=UTC))
    others = make(User.objects.get(pk=create_user().json()["userId"]))
    client = client_as("auditor")

    def found(**query: str) -> list[Conversion]:
        return list(client.get(CONVERSIONS, query).context["cl"].result_list)

    assert found() == [others, earlier, mine]
    assert found(user=str(user.pk)) == [mine, earlier]
    assert found(user=user.external_id) == [mine, earlier]
    assert found(user="nobody") == []
    assert found(partner__id__exact=str(user.partner_id)) == [others, earlier, mine]
    assert found(q=mine.conversion_id) == [mine]
    assert found(q=mine.conversion_id[:-1]) == []
    assert found(q=mine.conversion_id, user=str(others.user_id)) == []


def test_a_long_list_continues_on_the_next_page(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {make(user, created_at=datetime(2026, 3, day, tzinfo=UTC)).pk for day in (3, 1, 4, 2, 5)}
    monkeypatch.setattr(UserRowAdmin, "list_per_page", 3)
    client = client_as("viewer")
    for query in ("", f"?user={user.pk}"):
        first = client.get(CONVERSIONS + query).context["cl"]
        second = client.get(CONVERSIONS + first.next_page).context["cl"]
        assert [len(page.result_list) for page in (first, second)] == [3, 2]
        assert {row.pk for row in (*first.result_list, *second.result_list)} == made
