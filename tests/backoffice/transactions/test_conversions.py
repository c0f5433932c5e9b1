"""The back office of conversions."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from backoffice.lists import bounded_lists
from backoffice.users import transactions
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

    assert found() == [mine, earlier, others]
    assert found(q=str(user.pk)) == [mine, earlier]
    assert found(q=user.external_id) == [mine, earlier]
    assert found(q="nobody") == []
    assert found(partner__id__exact=str(user.partner_id)) == [mine, earlier, others]
    assert found(q=mine.conversion_id) == [mine]
    assert found(q=mine.conversion_id[:-1]) == []


def listed(**query: str) -> list[Conversion]:
    return list(client_as("auditor").get(CONVERSIONS, query).context["cl"].result_list)


def test_a_person_s_conversions_are_found_by_the_name_and_by_the_day(
    user: User, create_user: Callable[..., Response]
) -> None:
    grace = User.objects.get(pk=create_user(firstName="Grace", lastName="Hopper").json()["userId"])
    # Three o'clock in the morning in UTC is the evening before in Toronto.
    march, february = (make(grace, created_at=datetime(2026, month, 1, 3, tzinfo=UTC)) for month in (3, 2))
    make(user, created_at=datetime(2026, 3, 1, 3, tzinfo=UTC))
    for query in ({"q": "hopper gr"}, {"q": "hopper gr", "least": "0"}):
        assert listed(**query) == [march, february]
        assert listed(**query, since="2026-02-28") == [march]
        assert listed(**query, until="2026-01-31") == [february]
        assert listed(**query, since="2026-03-01") == []
        assert listed(**query, mode="sandbox") == []


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"least": "9500"}, ["large", "sent", "received"]),
        ({"least": "9500.01"}, ["large"]),
        ({"least": " 9000 usd "}, ["dollars"]),
        ({"least": "0.07 BTC"}, ["received"]),
        ({"least": "0.08 BTC"}, []),
        ({"least": "9000", "since": "2026-03-02"}, ["large"]),
        ({"least": "9000", "q": "nobody"}, []),
        ({"least": "9000", "mode": "sandbox"}, []),
    ],
)
@pytest.mark.parametrize("limit", [1_000, 0])
def test_an_amount_of_either_side_is_found(
    query: dict[str, str], names: list[str], limit: int, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "MAX_OF_AMOUNT", limit)
    march = datetime(2026, 3, 1, 12, tzinfo=UTC)
    make(user, conversion_id="dollars", created_at=march - timedelta(1), from_currency="EUR", to_amount=Decimal(9500))
    make(user, conversion_id="sent", created_at=march + timedelta(hours=1), from_amount=Decimal("9500.00"))
    sides = {"from_currency": "BTC", "from_amount": Decimal("0.07"), "to_currency": "CAD", "to_amount": Decimal(9500)}
    make(user, conversion_id="received", created_at=march, **sides)
    make(user, conversion_id="large", created_at=march + timedelta(2), from_amount=Decimal(10_000))
    assert [one.conversion_id for one in listed(**query)] == names


@pytest.mark.parametrize("query", [{"least": "much"}, {"least": "NaN"}, {"least": "1 $"}, {"least": "9" * 400}])
def test_an_amount_that_is_none_is_refused(query: dict[str, str], conversion: Conversion) -> None:
    response = client_as("auditor").get(CONVERSIONS, query, follow=True)
    assert "Invalid filter." in response.content.decode()


def test_an_amount_that_many_have_is_looked_for_in_parts(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    found = make(user, created_at=datetime(2026, 1, 1, tzinfo=UTC), from_amount=Decimal(9500))
    for day in (1, 2, 3):
        make(user, created_at=datetime(2026, 2, day, tzinfo=UTC))
    client = client_as("auditor")
    monkeypatch.setattr(bounded_lists, "MAX_EXAMINED_ROWS", 2)
    assert client.get(CONVERSIONS, {"least": "9000"}).context["cl"].result_list == [found]
    monkeypatch.setattr(transactions, "MAX_OF_AMOUNT", 0)
    first = client.get(CONVERSIONS, {"least": "9000"}).context["cl"]
    assert (first.result_list, first.is_partial) == ([], True)
    assert client.get(CONVERSIONS + first.next_page).context["cl"].result_list == [found]


def test_amounts_of_a_mode_are_read_by_their_indexes(conversion: Conversion) -> None:
    with CaptureQueriesContext(connection) as captured:
        listed(least="9000")
    sides = [one["sql"] for one in captured if "_amount" in one["sql"] and "LIMIT 1001" in one["sql"]]
    assert len(sides) == 2
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        for sql, index in zip(sides, ("conversion_from_amount", "conversion_to_amount"), strict=True):
            cursor.execute(f"EXPLAIN {sql}")
            plan = " ".join(row[0] for row in cursor.fetchall())
            assert index in plan
            assert "Sort" not in plan
