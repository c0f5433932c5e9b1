"""A user's conversions: contract, section 6."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.responses import assert_error
from users.models import User

LIST = "/v1/users/ada/transactions"
NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


def ids(response: Response) -> list[str]:
    assert response.status == 200, response.body
    return [item["conversionId"] for item in response.json()["items"]]


def days(count: int) -> list[datetime]:
    return [NOON + timedelta(days=day) for day in range(count)]


def test_a_list_is_shown_in_its_exact_form(api: PartnerClient, ada: User) -> None:
    assert api.get(LIST).json() == {"externalId": "ada", "userId": str(ada.pk), "nextCursor": None, "items": []}
    moment = datetime(2026, 1, 15, 10, 30, 0, 123, tzinfo=UTC)
    (made,) = factories.add_conversions(ada, [moment])
    assert api.get(LIST).json() == {
        "externalId": "ada",
        "userId": str(ada.pk),
        "nextCursor": None,
        "items": [
            {
                "conversionId": made.conversion_id,
                "createdAt": "2026-01-15T10:30:00.000123Z",
                "type": "conversion",
                "from": {"currency": "CAD", "amount": "100.00"},
                "to": {"currency": "USD", "amount": "71.50"},
                "rate": "0.715",
            }
        ],
    }


def test_a_list_holds_only_the_users_own_conversions(
    api: PartnerClient, ada: User, create_user: Callable[..., Response]
) -> None:
    bob = User.objects.get(pk=create_user(externalId="bob").json()["userId"])
    hers, his = factories.add_conversions(ada, [NOON]), factories.add_conversions(bob, [NOON])
    assert ids(api.get(LIST)) == [hers[0].conversion_id]
    assert ids(api.get("/v1/users/bob/transactions")) == [his[0].conversion_id]


DIGITS = ["1", "1.0", "100.00", "0.000000000000000001", "99999999999999999999", "10000000000000000000.10"]
DIGITS += ["99999999999999999999.999999999999999999"]
# A rate is more than zero.
AMOUNTS = [*DIGITS, "0", "0.000000000000000000"]


def test_amounts_and_rates_keep_their_digits(api: PartnerClient, ada: User) -> None:
    for digits in AMOUNTS:
        rate = digits if digits in DIGITS else "1"
        amount = Decimal(digits)
        factories.add_conversions(ada, [NOON], from_amount=amount, to_amount=amount, rate=Decimal(rate))
    factories.add_conversions(ada, [NOON], from_amount=Decimal("1E+3"), to_amount=Decimal("1E+3"))
    items = api.get(LIST).json()["items"]
    assert {(item["from"]["amount"], item["to"]["amount"]) for item in items} == {
        (digits, digits) for digits in (*AMOUNTS, "1000")
    }
    assert {*DIGITS} <= {item["rate"] for item in items}


def test_an_instant_of_another_offset_is_shown_in_utc(api: PartnerClient, ada: User) -> None:
    factories.add_conversions(ada, [datetime.fromisoformat("2026-07-01T23:30:00-04:00")])
    assert api.get(LIST).json()["items"][0]["createdAt"] == "2026-07-02T03:30:00.000000Z"


# Parameters


def test_a_page_holds_at_most_the_limit(api: PartnerClient, ada: User) -> None:
    factories.add_conversions(ada, days(101))
    queries = {"": 25, "?limit=1": 1, "?limit=25": 25, "?limit=100": 100, "?limit=007": 7, "?limit=%31%30": 10}
    queries[f"?limit={'0' * 1000}3"] = 3
    responses = {query: api.get(LIST + query) for query in queries}
    assert {query: len(ids(response)) for query, response in responses.items()} == queries
    assert all(response.json()["nextCursor"] is not None for response in responses.values())


def test_a_cursor_of_another_partners_user_is_not_found(
    api: PartnerClient, other_api: PartnerClient, ada: User
) -> None:
    factories.add_conversions(ada, days(3))
    cursor = api.get(f"{LIST}?limit=1").json()["nextCursor"]
    assert_error(other_api.get(f"{LIST}?cursor={cursor}"), 404)
