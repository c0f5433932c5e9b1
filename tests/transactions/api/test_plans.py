"""How the database answers what requests ask: by an index, in its order, and no more rows than needed."""

import json
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from core.database import statements
from core.database.pipeline import Query
from events.feed.views import EVENTS
from partners.api.lists import DEFAULT_LIMIT, MAX_LIMIT, KeysetList
from partners.authentication.signature_authentication import _FIND_CALLER, digest
from partners.models import ApiKey, Partner
from tests import factories
from tests.support.internal import REASON
from tests.support.plans import ADD_USERS, UNORDERED, generic_plan, nodes, planning_without, vacuum
from transactions.api import CONVERSIONS, DOCUMENTS
from transactions.models import Document
from users import queries as user_queries
from users.api.views import USERS, USERS_OF_STATUS
from users.models import Status, StatusChange, User

MANY = 1000
# The rows of one user: several pages of the greatest size.
ROWS = 4 * MAX_LIMIT
NEWEST = datetime(2026, 1, 15, 12, tzinfo=UTC)
LISTS = {"conversion_page": CONVERSIONS, "document_page": DOCUMENTS}


@pytest.fixture(scope="module")
def many(django_db_setup: None, django_db_blocker: Any) -> Partner:
    """A partner with as many users, keys and rows as it takes for an index to pay, and statistics that say so."""
    with django_db_blocker.unblock():
        partner: Partner = factories.PartnerFactory.create(slug="of-the-plans")
        with transaction.atomic():
            _add_users(partner, MANY)
            users = [*User.objects.filter(partner=partner).select_related("partner").order_by("external_id")]
            ada = next(user for user in users if user.external_id == "x7")
            _approve(users[::2])
            moments = [NEWEST - timedelta(minutes=number) for number in range(ROWS)]
            factories.add_conversions(ada, moments)
            Document.objects.bulk_create(
                factories.DocumentFactory.build(user=ada, created_at=moment) for moment in moments
            )
            others = factories.PartnerFactory.build_batch(MANY // 10)
            ApiKey.objects.bulk_create(
                ApiKey(partner=other, prefix=f"psi_key_{other.slug}", digest=digest(other.slug), encrypted_secret="x")
                for other in Partner.objects.bulk_create(others)
            )
        vacuum("users_user", "partners_apikey", "partners_partner", "transactions_conversion", "transactions_document")
    return partner


def _add_users(partner: Partner, count: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(ADD_USERS, [partner.pk, count])


def _approve(users: list[User]) -> None:
    by, start, end = factories.StaffFactory.create(), Status.PENDING_COMPLIANCE, Status.ACTIVE
    StatusChange.objects.bulk_create(
        [StatusChange(user=user, from_status=start, to_status=end, by=by, reason=REASON) for user in users]
    )


@pytest.fixture
def ada(many: Partner, committed_partner: Partner) -> User:
    return User.objects.get(partner=many, external_id="x7")


def plan(query: Query[Any]) -> dict[str, Any]:
    """How the database answers where reading whole tables is forbidden, as the tests' small ones would be."""
    with planning_without(*UNORDERED):
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {query.statement}"
        row = connection.connection.execute(explain, query.parameters).fetchone()
    found: dict[str, Any] = row[0][0]["Plan"]
    return found


def position_of(rows: KeysetList, owner: Sequence[object], number: int) -> tuple[object, ...]:
    """The position of a row of the owner's list, from 1 to MAX_LIMIT."""
    [page] = statements.fetch(rows.page(owner, None, number))
    return tuple(page.last)


def page_scan(found: dict[str, Any]) -> dict[str, Any]:
    """How the rows of the page are read; beside it are the owner and the start."""
    [page] = [node for node in nodes(found) if node.get("Scan Direction") == "Backward"]
    return page


@pytest.mark.parametrize("limit", [10, DEFAULT_LIMIT, MAX_LIMIT])
@pytest.mark.parametrize("number", [None, 60], ids=["first page", "further page"])
@pytest.mark.parametrize(("index", "rows"), LISTS.items(), ids=LISTS)
def test_a_page_is_read_from_the_index_and_no_more_than_it(
    ada: User, index: str, rows: KeysetList, number: int | None, limit: int
) -> None:
    owner = (ada.partner_id, ada.external_id)
    found = plan(rows.page(owner, position_of(rows, owner, number) if number else None, limit))
    page = page_scan(found)
    assert (page["Node Type"], page["Index Name"]) == ("Index Scan", index)
    assert "ROW(created_at, tiebreak) <" in page["Index Cond"]
    assert page.get("Rows Removed by Filter", 0) == 0
    # One more tells whether more follow.
    assert max(node["Actual Rows"] for node in nodes(found)) == limit + 1
    assert {node["Node Type"] for node in nodes(found)} <= {
        *("Aggregate", "Limit", "Nested Loop", "Result", "Subquery Scan", "Memoize"),
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
    _add_users(partner, 400)
    users = [*User.objects.filter(partner=partner).values_list("pk", flat=True)]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT_CONVERSIONS, [partner.pk, users])
        cursor.execute("ANALYZE users_user, transactions_conversion")
    owner = (partner.pk, User.objects.get(pk=users[0]).external_id)
    for start in (None, position_of(CONVERSIONS, owner, 90)):
        for limit in (DEFAULT_LIMIT, MAX_LIMIT):
            found = generic_plan(CONVERSIONS.page(owner, start, limit))
            page = page_scan(found)
            assert (page["Node Type"], page["Index Name"]) == ("Index Scan", "conversion_page")
            assert max(node["Actual Rows"] for node in nodes(found)) <= limit + 1


@pytest.mark.parametrize("plan_of", [plan, generic_plan])
@pytest.mark.parametrize("number", [None, 90], ids=["first page", "further page"])
@pytest.mark.parametrize("status", [None, Status.ACTIVE], ids=["all", "of a status"])
def test_a_page_of_users_is_read_from_the_index_and_no_more_than_it(
    ada: User, plan_of: Callable[[Query[Any]], dict[str, Any]], status: Status | None, number: int | None
) -> None:
    owner: list[object] = [ada.partner_id]
    rows, index = USERS, "user_of_partner"
    if status:
        rows, index, owner = USERS_OF_STATUS, "user_of_partner_status", [ada.partner_id, status.value]
    start = position_of(rows, owner, number) if number else None
    with planning_without(*UNORDERED):
        found = plan_of(rows.page(owner, start, MAX_LIMIT))
    page = page_scan(found)
    assert (page["Index Name"], page["Actual Rows"]) == (index, MAX_LIMIT + 1)
    assert "ROW(created_at, id) <" in page["Index Cond"]
    assert page.get("Rows Removed by Filter", 0) == 0
    assert max(node["Actual Rows"] for node in nodes(found)) == MAX_LIMIT + 1
    assert {node["Node Type"] for node in nodes(found)} <= {
        *("Aggregate", "Limit", "Nested Loop", "Result", "Subquery Scan"),
        *("Index Scan", "Index Only Scan"),
    }


def test_a_user_is_found_by_an_index(ada: User) -> None:
    found = plan(user_queries.find(ada.partner_id, ada.external_id))
    # Either of the two indexes that begin with it is as good.
    assert (found["Node Type"], "external_id" in found["Index Cond"]) == ("Index Scan", True)
    kinds = {"Index Scan", "Index Only Scan", "Nested Loop", "Aggregate", "Limit"}
    assert {node["Node Type"] for node in nodes(found)} <= kinds
    # Requirements are read only where there are some, and the newest record of an identity once.
    read = {node.get("Relation Name"): node["Actual Loops"] for node in nodes(found) if node["Actual Loops"]}
    assert read == {"users_user": 1, None: 1, "users_fileentry": 1}


def test_a_user_is_locked_by_an_index(ada: User) -> None:
    for key in (None, str(uuid.uuid4())):
        found = list(nodes(plan(user_queries.lock(ada.partner_id, ada.external_id, key=key))))
        assert "Seq Scan" not in {node["Node Type"] for node in found}
        (scan,) = (node for node in found if node.get("Relation Name") == "users_user")
        assert (scan["Node Type"], "external_id" in scan["Index Cond"]) == ("Index Scan", True)


def test_a_key_is_found_by_its_digest(ada: User) -> None:
    found = json.dumps(plan(Query(_FIND_CALLER, (digest("psi_key_x"),))))
    assert "Seq Scan" not in found
    assert '"Index Cond": "(digest =' in found


def test_a_page_is_planned_once_and_for_all(ada: User) -> None:
    connection.close()
    partner_id = ada.partner_id
    lists: list[tuple[KeysetList, tuple[object, ...]]] = [
        *((rows, (partner_id, ada.external_id)) for rows in LISTS.values()),
        *((USERS, (partner_id,)), (USERS_OF_STATUS, (partner_id, "active")), (EVENTS, (partner_id, partner_id))),
    ]
    for rows, owner in lists:
        start = (0,) if rows is EVENTS else position_of(rows, owner, 1)
        for limit in (1, DEFAULT_LIMIT, MAX_LIMIT):
            for _ in range(4):
                statements.fetch(rows.page(owner, None, limit))
                statements.fetch(rows.page(owner, start, limit))
    plans = statements.fetch_all(
        "SELECT custom_plans, generic_plans FROM pg_prepared_statements WHERE statement LIKE %s", ("%AS page%",)
    )
    # PostgreSQL makes five to learn what planning each time is worth.
    assert {custom for custom, _ in plans} == {5}, plans
    assert len(plans) == len(lists)
