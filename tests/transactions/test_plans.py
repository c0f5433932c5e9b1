"""How the database answers what requests ask: by an index, in its order, without a sort; see also test_statements."""

import json
from types import ModuleType
from typing import Any

import pytest
from django.db import connection, transaction

from partners import keys, sql
from partners.keys import PartnerRef
from partners.models import ApiKey, Partner
from tests import factories
from tests.plans import UNORDERED, planning_without
from tests.tables import vacuum
from transactions import document_queries, queries
from transactions.pagination import DEFAULT_LIMIT
from transactions.positions import MOST_ROWS, Owner, Position
from users import queries as user_queries
from users.models import User
from users.profile import create_user

MANY = 1000
LISTS = {"conversion_page": queries, "document_page": document_queries}


@pytest.fixture(scope="module")
def many(django_db_setup: None, django_db_blocker: Any) -> Partner:
    """A partner with as many users and keys as it takes for an index to be worth it, and statistics that say so."""
    with django_db_blocker.unblock():
        partner: Partner = factories.PartnerFactory.create(slug="of-the-plans")
        with transaction.atomic():
            for number in range(MANY):
                body = json.dumps(factories.user_body(externalId=f"plan-{number}"))
                create_user(partner_id=partner.pk, body=body.encode())
        for _ in range(MANY // 10):
            keys.issue(partner=partner)
        # The tables of the lists too: what another file has left in them is not known.
        vacuum("users_user", "partners_apikey", "partners_partner", "transactions_conversion", "transactions_document")
    return partner


@pytest.fixture
def ada(many: Partner, committed_partner: Partner) -> User:
    return User.objects.get(partner=many, external_id="plan-7")


def plan(statement: str, *parameters: object) -> dict[str, Any]:
    """How the database would answer where reading whole tables were forbidden, as the tests' small ones would be."""
    with planning_without(*UNORDERED):
        row = connection.connection.execute(f"EXPLAIN (FORMAT JSON) {statement}", parameters).fetchone()
    found: dict[str, Any] = row[0][0]["Plan"]
    return found


@pytest.fixture(params=["certain", "remembered"])
def partner(request: pytest.FixtureRequest, ada: User) -> PartnerRef:
    """The partner of `ada`, in the two ways in which a statement is told."""
    return PartnerRef(ada.partner_id) if request.param == "certain" else remembered(ada)


def remembered(user: User) -> PartnerRef:
    key = ApiKey.objects.filter(partner=user.partner).first()
    assert key is not None
    return PartnerRef(None, bytes(key.digest), user.partner.slug, user.partner.rate_limit)


def assert_partner_by_index(found: dict[str, Any], partner: PartnerRef) -> None:
    if partner.partner_id:
        assert "Plans" not in found
    else:
        (looked_up,) = found["Plans"]
        assert {scan["Node Type"] for scan in looked_up["Plans"]} == {"Index Scan"}, looked_up


@pytest.mark.parametrize("further", [False, True], ids=["first page", "further page"])
@pytest.mark.parametrize(("index", "module"), LISTS.items(), ids=LISTS)
def test_a_page_is_read_from_the_index_in_its_order(
    ada: User, partner: PartnerRef, index: str, module: ModuleType, *, further: bool
) -> None:
    found = (
        plan(module._FROM_POSITION, *partner, ada.external_id, "2026-01-15T12:00:00.000000Z", 1, 10)
        if further
        else plan(module._NEWEST, *partner, ada.external_id, 10)
    )
    (written,) = found["Plans"]
    (limited,) = written["Plans"]
    owner, scan = limited["Plans"]
    assert (owner["Parent Relationship"], owner["Node Type"]) == ("InitPlan", "Index Scan")
    assert "external_id" in owner["Index Cond"]
    assert_partner_by_index(owner, partner)
    assert [node["Node Type"] for node in (found, written, limited)] == ["Limit", "Subquery Scan", "Limit"]
    assert (scan["Node Type"], scan["Index Name"]) == ("Index Scan", index)
    assert scan["Scan Direction"] == "Backward"
    assert ("ROW(created_at, tiebreak) <=" in scan["Index Cond"]) == further
    assert "Sort" not in json.dumps(found)
    assert "Filter" not in scan


def test_a_user_is_found_by_an_index(ada: User, partner: PartnerRef) -> None:
    found = plan(user_queries._FIND, *partner, ada.external_id)
    # Of the two that begin with it, either is as good.
    assert (found["Node Type"], "external_id" in found["Index Cond"]) == ("Index Scan", True)
    assert_partner_by_index(found, partner)


def test_a_user_is_locked_by_an_index(ada: User) -> None:
    (scan,) = plan(user_queries._LOCK, ada.partner_id, ada.external_id)["Plans"]
    assert (scan["Node Type"], "external_id" in scan["Index Cond"]) == ("Index Scan", True)


def test_a_key_is_found_by_its_digest(ada: User) -> None:
    found = plan(keys._FIND_CALLER, keys.digest("psi_key_x"))
    assert "Seq Scan" not in json.dumps(found)
    assert '"Index Cond": "(digest =' in json.dumps(found)


@pytest.mark.parametrize("limit", [DEFAULT_LIMIT + 1, MOST_ROWS])
@pytest.mark.parametrize("module", LISTS.values(), ids=LISTS)
def test_a_page_is_planned_once_and_for_all(ada: User, module: ModuleType, limit: int) -> None:
    connection.close()
    owner, position = Owner(remembered(ada), ada.external_id), Position("2026-01-15T12:00:00.000000Z", 1)
    for _ in range(10):
        module.page(owner, None, limit)
        module.page(owner, position, limit)
    plans = sql.fetch_all("SELECT custom_plans FROM pg_prepared_statements WHERE statement LIKE %s", ("%) page%",))
    # PostgreSQL makes five to learn what planning anew is worth.
    assert plans == [(5,), (5,)]
