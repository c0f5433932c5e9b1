"""How the database answers what requests ask: by an index, in its order, and no more rows than needed."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from core.database import statements
from core.database.query import Query
from partners.api.pagination import DEFAULT_LIMIT, MAX_LIMIT
from partners.authentication import keys
from partners.models import Partner
from tests import factories
from tests.support.documents import add_documents
from tests.support.internal import REASON
from tests.support.plans import UNORDERED, generic_plan, nodes, planning_without
from tests.support.tables import vacuum
from transactions import keyset
from transactions.keyset import DEFAULT_ROWS, MAX_ROWS, KeysetRows, Owner, Position
from users import queries as user_queries
from users.models import Status, StatusChange, User

MANY = 1000
# The rows of one user: several pages of the greatest size.
ROWS = 4 * MAX_ROWS
NEWEST = datetime(2026, 1, 15, 12, tzinfo=UTC)
LISTS = {"conversion_page": keyset.CONVERSIONS, "document_page": keyset.DOCUMENTS}


@pytest.fixture(scope="module")
def many(django_db_setup: None, django_db_blocker: Any) -> Partner:
    """A partner with as many users, keys and rows as it takes for an index to pay, and statistics that say so."""
    with django_db_blocker.unblock():
        partner: Partner = factories.PartnerFactory.create(slug="of-the-plans")
        with transaction.atomic():
            users = [
                factories.UserFactory.create(partner=partner, external_id=f"plan-{number}") for number in range(MANY)
            ]
            ada = users[7]
            _approve(users[::2])
            moments = [NEWEST - timedelta(minutes=number) for number in range(ROWS)]
            factories.add_conversions(ada, moments)
            add_documents(ada, moments)
        for _ in range(MANY // 10):
            keys.issue(partner=factories.PartnerFactory.create())
        vacuum("users_user", "partners_apikey", "partners_partner", "transactions_conversion", "transactions_document")
    return partner


def _approve(users: list[User]) -> None:
    by, start, end = factories.StaffFactory.create(), Status.PENDING_COMPLIANCE, Status.ACTIVE
    StatusChange.objects.bulk_create(
        [StatusChange(user=user, from_status=start, to_status=end, by=by, reason=REASON) for user in users]
    )


@pytest.fixture
def ada(many: Partner, committed_partner: Partner) -> User:
    return User.objects.get(partner=many, external_id="plan-7")


def plan(query: Query[Any]) -> dict[str, Any]:
    """How the database answers where reading whole tables is forbidden, as the tests' small ones would be."""
    with planning_without(*UNORDERED):
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {query.statement}"
        row = connection.connection.execute(explain, query.parameters).fetchone()
    found: dict[str, Any] = row[0][0]["Plan"]
    return found


def row_at(rows: KeysetRows[Any], user: User, number: int) -> Position:
    """The position of a row of the user's list."""
    return keyset.position(rows.fetch(Owner(user.partner_id, user.external_id), None, number + 1)[number])


@pytest.mark.parametrize("count", [10, DEFAULT_ROWS, MAX_ROWS])
@pytest.mark.parametrize("start", [None, 60], ids=["first page", "further page"])
@pytest.mark.parametrize(("index", "rows"), LISTS.items(), ids=LISTS)
def test_a_page_is_read_from_the_index_and_no_more_than_it(
    ada: User, index: str, rows: KeysetRows[Any], start: int | None, count: int
) -> None:
    position = None if start is None else row_at(rows, ada, start)
    found = plan(rows.query(Owner(ada.partner_id, ada.external_id), position, count))
    assert found["Actual Rows"] == count
    (page,) = [node for node in nodes(found) if node.get("Index Name") == index]
    assert (page["Node Type"], page["Scan Direction"]) == ("Index Scan", "Backward")
    assert ("ROW(created_at, tiebreak) <=" in page["Index Cond"]) == (start is not None)
    assert page.get("Rows Removed by Filter", 0) == 0
    # The limit within the statement is one of two numbers, so that it can be planned once.
    most = DEFAULT_ROWS if count <= DEFAULT_ROWS else MAX_ROWS
    assert page["Actual Rows"] <= most
    sorts = [node for node in nodes(found) if node["Node Type"] in {"Sort", "Incremental Sort"}]
    assert all(node["Actual Rows"] <= most for node in sorts)
    assert {node["Node Type"] for node in nodes(found)} <= {
        *("Limit", "Sort", "Incremental Sort", "Nested Loop", "Result", "Subquery Scan", "Memoize"),
        *("Index Scan", "Index Only Scan"),
    }
    owners = [node for node in nodes(found) if node.get("Relation Name") == "users_user"]
    assert ["external_id" in owner["Index Cond"] for owner in owners] == [True]


# Inserts 20,000 conversions at intervals of a minute: every twentieth is of the first user, the others are of many.
_INSERT_CONVERSIONS = """
    INSERT INTO transactions_conversion (partner_id, user_id, conversion_id, created_at,
                                         from_currency, from_amount, to_currency, to_amount, rate)
    SELECT %s, (%s::uuid[])[CASE WHEN number %% 20 = 0 THEN 1 ELSE 1 + number %% 400 END], 'apart-' || number,
           '2026-01-15T12:00Z'::timestamptz - number * interval '1 minute', 'CAD', 100, 'USD', 71.5, 0.715
      FROM generate_series(1, 20000) AS number
"""


def test_of_a_user_with_more_rows_than_others_no_more_than_a_page_is_read(partner: Partner) -> None:
    users = [factories.UserFactory.create(partner=partner).pk for _ in range(400)]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT_CONVERSIONS, [partner.pk, users])
        cursor.execute("ANALYZE users_user, transactions_conversion")
    rows, first = keyset.CONVERSIONS, User.objects.get(pk=users[0])
    for start in (None, row_at(rows, first, 90)):
        for count in (DEFAULT_ROWS, MAX_ROWS):
            found = generic_plan(rows.query(Owner(partner.pk, first.external_id), start, count))
            (page,) = [node for node in nodes(found) if node.get("Index Name") == "conversion_page"]
            assert (page["Node Type"], page["Scan Direction"]) == ("Index Scan", "Backward")
            assert max(node["Actual Rows"] for node in nodes(found)) <= count


USER_PAGES = {None: "user_of_partner", Status.ACTIVE: "user_of_partner_status"}


def user_at(partner_id: int, number: int) -> tuple[str, str]:
    """The start of a page of users after this one."""
    user = statements.fetch(user_queries.page(partner_id, None, None, number))[-1]
    return user.created_at, user.id


@pytest.mark.parametrize("plan_of", [plan, generic_plan])
@pytest.mark.parametrize("start", [None, 400], ids=["first page", "further page"])
@pytest.mark.parametrize(("status", "index"), USER_PAGES.items(), ids=USER_PAGES.values())
def test_a_page_of_users_is_read_from_the_index_and_no_more_than_it(
    ada: User, plan_of: Callable[[Query[Any]], dict[str, Any]], status: Status | None, index: str, start: int | None
) -> None:
    count = MAX_LIMIT + 1
    position = None if start is None else user_at(ada.partner_id, start)
    with planning_without(*UNORDERED):
        found = plan_of(user_queries.page(ada.partner_id, status, position, count))
    assert found["Actual Rows"] == count
    (page,) = [node for node in nodes(found) if node.get("Scan Direction") == "Backward"]
    assert (page["Index Name"], page["Actual Rows"]) == (index, count)
    assert ("ROW(created_at, id) <" in page["Index Cond"]) == (start is not None)
    assert page.get("Rows Removed by Filter", 0) == 0
    # Beside it is the user of the cursor.
    assert max(node["Actual Rows"] for node in nodes(found)) == count
    beside = {"Nested Loop", "Sort", "Incremental Sort", "Index Only Scan"} if start else set()
    assert {node["Node Type"] for node in nodes(found)} <= {"Limit", "Index Scan", "Result"} | beside


def test_a_user_is_found_by_an_index(ada: User) -> None:
    found = plan(user_queries.find(ada.partner_id, ada.external_id))
    # Either of the two indexes that begin with it is as good.
    assert (found["Node Type"], "external_id" in found["Index Cond"]) == ("Index Scan", True)
    assert {node["Node Type"] for node in nodes(found)} <= {"Index Scan", "Index Only Scan", "Nested Loop", "Aggregate"}
    # Requirements are read only where there are some.
    assert all(node["Actual Loops"] == 0 for node in nodes(found) if node is not found)


def test_a_user_is_locked_by_an_index(ada: User) -> None:
    (scan,) = plan(Query(user_queries._LOCK, (ada.partner_id, ada.external_id)))["Plans"]
    assert (scan["Node Type"], "external_id" in scan["Index Cond"]) == ("Index Scan", True)


def test_a_key_is_found_by_its_digest(ada: User) -> None:
    found = json.dumps(plan(Query(keys._FIND_CALLER, (keys.digest("psi_key_x"),))))
    assert "Seq Scan" not in found
    assert '"Index Cond": "(digest =' in found


@pytest.mark.parametrize("count", [DEFAULT_LIMIT + 2, MAX_ROWS])
@pytest.mark.parametrize("rows", LISTS.values(), ids=LISTS)
def test_a_page_is_planned_once_and_for_all(ada: User, rows: KeysetRows[Any], count: int) -> None:
    connection.close()
    owner, position = Owner(ada.partner_id, ada.external_id), Position("2026-01-15T12:00:00.000000Z", 1)
    for _ in range(10):
        rows.fetch(owner, None, count)
        rows.fetch(owner, position, count)
    plans = statements.fetch_all(
        "SELECT custom_plans, generic_plans FROM pg_prepared_statements WHERE statement LIKE %s", ("%) page ON true%",)
    )
    # PostgreSQL makes five to learn what planning each time is worth.
    assert plans == [(5, 5), (5, 5)]
