"""The back office of conversions."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.admin.options import IncorrectLookupParameters
from django.db import connection
from django.test.utils import CaptureQueriesContext

from backoffice.lists import bounded_lists
from backoffice.users import transactions
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.support.staff import client_as, list_of
from transactions.models import Conversion
from users.models import User

CONVERSIONS = "/admin/transactions/conversion/"
Find = Callable[..., list[Conversion]]


@pytest.fixture
def user(partner: Partner) -> User:
    made: User = factories.UserFactory.create(partner=partner, external_id="ada")
    return made


@pytest.fixture
def auditor(db: None) -> Staff:
    return factories.StaffFactory.create(role="auditor")


@pytest.fixture
def found(auditor: Staff) -> Find:
    """The conversions that a query of the list finds."""
    return lambda **query: list(list_of(auditor, CONVERSIONS, **query).result_list)


def make(user: User, **fields: object) -> Conversion:
    return factories.ConversionFactory.create(user=user, **fields)


def test_list_and_page_show_digits_as_recorded_and_whether_the_user_was_active(user: User) -> None:
    conversion = make(user, from_amount=Decimal("12345678.90"), rate=Decimal("0.000000000000000100"))
    late = make(user, while_inactive=True)
    client = client_as("viewer")
    rows = client.get(CONVERSIONS).content.decode().split("</tr>")
    for shown, is_late in ((conversion, False), (late, True)):
        address = f"{CONVERSIONS}{shown.pk}/change/"
        [row] = (row for row in rows if address in row)
        for text in (row, client.get(address).content.decode()):
            said = [one in text for one in ("12345678.90 CAD", "0.000000000000000100", "Not active")]
            assert said == [not is_late, not is_late, is_late]


def test_filters_and_search_find_exactly(user: User, found: Find) -> None:
    mine = make(user, created_at=datetime(2026, 3, 1, tzinfo=UTC))
    earlier = make(user, created_at=datetime(2026, 2, 1, tzinfo=UTC))
    others = make(factories.UserFactory.create(partner=user.partner))
    elsewhere = make(factories.UserFactory.create(), created_at=datetime(2025, 2, 1, tzinfo=UTC))
    assert found() == [mine, earlier, others, elsewhere]
    assert found(q=str(user.pk)) == [mine, earlier]
    assert found(q=user.external_id) == [mine, earlier]
    assert found(q="nobody") == []
    assert found(partner__id__exact=str(user.partner_id)) == [mine, earlier, others]
    assert found(q=mine.conversion_id) == [mine]
    assert found(q=mine.conversion_id[:-1]) == []


def test_a_person_s_conversions_are_found_by_the_name_and_by_the_day(user: User, found: Find) -> None:
    grace = factories.UserFactory.create(partner=user.partner, first_name="Grace", last_name="Hopper")
    # Three o'clock in the morning in UTC is the evening before in Toronto.
    march, february = (make(grace, created_at=datetime(2026, month, 1, 3, tzinfo=UTC)) for month in (3, 2))
    make(user, created_at=datetime(2026, 3, 1, 3, tzinfo=UTC))
    for query in ({"q": "hopper gr"}, {"q": "hopper gr", "least": "0"}):
        assert found(**query) == [march, february]
        assert found(**query, since="2026-02-28") == [march]
        assert found(**query, until="2026-01-31") == [february]
        assert found(**query, since="2026-03-01") == []
        assert found(**query, mode="sandbox") == []


@pytest.mark.parametrize("limit", [1_000, 0])
def test_an_amount_of_either_side_is_found(
    limit: int, user: User, found: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "MAX_OF_AMOUNT", limit)
    march = datetime(2026, 3, 1, 12, tzinfo=UTC)
    make(user, conversion_id="dollars", created_at=march - timedelta(1), from_currency="EUR", to_amount=Decimal(9500))
    make(user, conversion_id="sent", created_at=march + timedelta(hours=1), from_amount=Decimal("9500.00"))
    sides = {"from_currency": "BTC", "from_amount": Decimal("0.07"), "to_currency": "CAD", "to_amount": Decimal(9500)}
    make(user, conversion_id="received", created_at=march, **sides)
    make(user, conversion_id="large", created_at=march + timedelta(2), from_amount=Decimal(10_000))
    expected: list[tuple[dict[str, Any], list[str]]] = [
        ({"least": "9500"}, ["large", "sent", "received"]),
        ({"least": "9500.01"}, ["large"]),
        ({"least": " 9000 usd "}, ["dollars"]),
        ({"least": "0.07 BTC"}, ["received"]),
        ({"least": "0.08 BTC"}, []),
        ({"least": "9000", "since": "2026-03-02"}, ["large"]),
        ({"least": "9000", "q": "nobody"}, []),
        ({"least": "9000", "mode": "sandbox"}, []),
    ]
    assert [(query, [one.conversion_id for one in found(**query)]) for query, _names in expected] == expected


@pytest.mark.parametrize("least", ["much", "NaN", "1 $", "9" * 400])
def test_an_amount_that_is_none_is_refused(least: str, auditor: Staff) -> None:
    with pytest.raises(IncorrectLookupParameters):
        list_of(auditor, CONVERSIONS, least=least)


def test_an_amount_that_many_have_is_looked_for_in_parts(
    user: User, auditor: Staff, found: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = make(user, created_at=datetime(2026, 1, 1, tzinfo=UTC), from_amount=Decimal(9500))
    for day in (1, 2, 3):
        make(user, created_at=datetime(2026, 2, day, tzinfo=UTC))
    monkeypatch.setattr(bounded_lists, "MAX_EXAMINED_ROWS", 2)
    assert found(least="9000") == [large]
    monkeypatch.setattr(transactions, "MAX_OF_AMOUNT", 0)
    first = list_of(auditor, CONVERSIONS, least="9000")
    assert (first.result_list, first.is_partial) == ([], True)
    assert list_of(auditor, CONVERSIONS + first.next_page).result_list == [large]


def test_amounts_of_a_mode_are_read_by_their_indexes(user: User, found: Find) -> None:
    make(user)
    with CaptureQueriesContext(connection) as captured:
        found(least="9000")
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
