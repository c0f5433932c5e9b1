"""10,000 CAD within 24 hours by one user: a mark on conversions, a risk flag of the user, and filters."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any

import psycopg
from django.db import connections

from core.database import serving_role
from partners.models import Partner
from tests import factories
from tests.conftest import database_url
from tests.factories import NOON
from tests.support.staff import client_as
from tests.transactions.imports.running import Line, wait_until_held_up
from transactions.imports import parse_conversion, store
from transactions.models import Conversion
from transactions.risk_flags import Threshold
from users.decisions.decision_basis import snapshot_for
from users.decisions.risk_flags import risk_flag_codes
from users.models import User

DAY, MOMENT = timedelta(hours=24), timedelta(microseconds=1)
# After NOON: when, and what for what.
Made = tuple[timedelta, str, str]


def add(user: User, *made: Made) -> list[bool]:
    """Store conversions, each by a statement of its own; which are marked, in the order of their time."""
    for after, sent, received in made:
        (from_amount, from_currency), (to_amount, to_currency) = sent.split(), received.split()
        amounts = {"from_amount": Decimal(from_amount), "to_amount": Decimal(to_amount)}
        currencies = {"from_currency": from_currency, "to_currency": to_currency}
        factories.add_conversions(user, [NOON + after], **amounts, **currencies)
    return marks(user)


def marks(user: User) -> list[bool]:
    rows = Conversion.objects.filter(user=user).order_by("created_at", "id")
    return list(rows.values_list("reaches_threshold", flat=True))


CASES: dict[str, tuple[list[Made], list[bool]]] = {
    "at once": ([(0 * DAY, "10000 CAD", "1 BTC")], [True]),
    "a cent less": ([(0 * DAY, "9999.99 CAD", "1 BTC")], [False]),
    "to CAD": ([(0 * DAY, "1 BTC", "10000 CAD")], [True]),
    "24 hours": ([(0 * DAY, "6000 CAD", "1 BTC"), (DAY, "1 BTC", "4000 CAD")], [False, True]),
    "longer": ([(0 * DAY, "6000 CAD", "1 BTC"), (DAY + MOMENT, "4000 CAD", "1 BTC")], [False] * 2),
    "recorded late": ([(DAY, "4000 CAD", "1 BTC"), (0 * DAY, "6000 CAD", "1 BTC")], [False, True]),
    "between two": (
        [(0 * DAY, "5000 CAD", "1 BTC"), (DAY, "4000 CAD", "1 BTC"), (DAY / 2, "1000 CAD", "1 BTC")],
        [False, False, True],
    ),
    "no CAD": ([(0 * DAY, "9000 CAD", "1 BTC"), (DAY, "90000 USD", "1 BTC")], [False] * 2),
    "rolling": ([(n * DAY / 4, "2500 CAD", "1 BTC") for n in range(6)], [False] * 3 + [True] * 3),
}


def test_a_conversion_is_marked_that_comes_to_it_with_those_before_of_the_user(partner: Partner) -> None:
    users = {name: factories.UserFactory.create(partner=partner) for name in CASES}
    found = {name: add(users[name], *made) for name, (made, _marked) in CASES.items()}
    assert found == {name: marked for name, (_made, marked) in CASES.items()}
    flags = risk_flag_codes([*users.values()])
    assert {name for name in CASES if Threshold.code in flags[users[name].pk]} == {
        name for name, (_made, marked) in CASES.items() if True in marked
    }


def test_those_of_one_statement_count_together(user: User) -> None:
    factories.add_conversions(user, [NOON + DAY / 2, NOON], from_currency="CAD", from_amount=Decimal(5000))
    assert marks(user) == [False, True]


def test_imports_that_do_not_see_each_others_conversions_take_turns(line: Line, committed_partner: Partner) -> None:
    user = User.objects.get(partner=committed_partner)
    row = parse_conversion(json.dumps(line(1) | {"from": {"currency": "CAD", "amount": "6000"}}).encode())
    with psycopg.connect(database_url(serving_role.OWNER)) as other, ThreadPoolExecutor(1) as pool:
        other.execute(
            "INSERT INTO transactions_conversion (partner_id, user_id, conversion_id, created_at, from_currency,"
            " from_amount, to_currency, to_amount, rate)"
            " VALUES (%s, %s, 'cv-0', '2026-01-01T00:00Z', 'CAD', 6000, 'USD', 1, 1)",
            [user.partner_id, user.pk],
        )
        imported = pool.submit(in_a_thread, row)
        wait_until_held_up()
        other.commit()
        assert imported.result() == 1
    assert marks(user) == [False, True]


def in_a_thread(row: tuple[str, ...]) -> int:
    try:
        return store({1: row})[0]
    finally:
        connections.close_all()


# Where staff see it


def test_the_case_a_decisions_basis_and_lists_have_it(user: User, partner: Partner) -> None:
    assert add(user, (0 * DAY, "100 CAD", "1 BTC"), (2 * DAY, "12000 CAD", "1 BTC"))[-1]
    add(factories.UserFactory.create(partner=partner), (0 * DAY, "9000 CAD", "1 BTC"))
    flags = snapshot_for(factories.StaffFactory.create(), user).data()["riskFlags"]
    assert {"code": "threshold", "data": {"at": (NOON + 2 * DAY).isoformat()}} in flags
    client = client_as("viewer")
    assert "10,000 CAD within 24 hours" in client.get(f"/admin/cases/{user.pk}/").content.decode()

    def found(path: str) -> list[Any]:
        return [row.pk for row in client.get(f"/admin/{path}/", {"flags": "threshold"}).context["cl"].result_list]

    assert found("users/user") == [user.pk]
    assert Conversion.objects.filter(pk__in=found("transactions/conversion")).get().from_amount == 12000
