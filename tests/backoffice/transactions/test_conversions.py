"""The back office of conversions."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pytest_django import DjangoAssertNumQueries

from backoffice.users.transactions import UserRowAdmin
from tests import factories
from tests.support.client import Response
from tests.support.staff import client_as
from transactions.models import Conversion
from users.models import User

CONVERSIONS = "/admin/transactions/conversion/"


@pytest.fixture
def user(create_user: Callable[..., Response]) -> User:
    return User.objects.get(pk=create_user().json()["userId"])


@pytest.fixture
def conversion(user: User) -> Conversion:
    return make(user)


def make(user: User, **fields: object) -> Conversion:
    return factories.ConversionFactory.create(user=user, **fields)


def page_of(conversion: Conversion) -> str:
    return f"{CONVERSIONS}{conversion.pk}/change/"


@pytest.mark.parametrize(
    ("role", "status"),
    [
        ("viewer", 200),
        ("reviewer", 200),
        ("auditor", 200),
        ("superuser", 200),
        ("partner-manager", 403),
        ("administrator", 403),
        ("nobody", 403),
        ("outsider", 302),
        ("anonymous", 302),
    ],
)
def test_a_role_sees_conversions_or_does_not(role: str, status: int, conversion: Conversion) -> None:
    client = client_as(role)
    assert [client.get(path).status_code for path in (CONVERSIONS, page_of(conversion))] == [status, status]


def test_nobody_adds_changes_or_deletes_one(conversion: Conversion) -> None:
    client = client_as("superuser")
    assert client.get(f"{CONVERSIONS}add/").status_code == 403
    assert client.post(page_of(conversion), {"rate": "9"}).status_code == 403
    assert client.post(f"{CONVERSIONS}{conversion.pk}/delete/", {"post": "yes"}).status_code == 403
    client.post(CONVERSIONS, {"action": "delete_selected", "_selected_action": str(conversion.pk), "post": "yes"})
    conversion.refresh_from_db()
    assert conversion.rate == Decimal("0.715")


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


def test_the_list_takes_as_many_statements_for_many_rows_as_for_one(
    user: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client = client_as("viewer")
    make(user)
    client.get(CONVERSIONS)
    for count in (1, 5):
        with django_assert_num_queries(6):  # session, staff, two of permissions, partners, rows
            client.get(CONVERSIONS)
        for _ in range(count):
            make(user)


def test_no_odd_request_is_a_crash(conversion: Conversion) -> None:
    client = client_as("superuser")
    client.raise_request_exception = False
    for name in ("q", "p", "o", "user", "partner__id__exact", "odd"):
        for value in ("\0", "a" * 20_000, "%", "9" * 40, "-1", "🦉", "not-a-uuid"):
            assert client.get(CONVERSIONS, {name: value}).status_code in {200, 302, 400}, (name, value)
            assert client.get(CONVERSIONS, {name: value, "user": "x"}).status_code in {200, 302, 400}, (name, value)
