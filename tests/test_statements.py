"""What a request asks of the database: few statements and round trips, as many for a long list as for a short one."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient, Response, in_process
from tests.support.documents import LONG, add_document, add_documents, folder
from tests.support.round_trips import round_trips
from users.models import User

__all__ = ("folder",)

ADA = "/v1/users/ada"
NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
# Within the test's own transaction, those of the service are savepoints.
BOUNDARIES = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK")


class Cost(NamedTuple):
    """What one request costs."""

    statements: int
    round_trips: int


def cost(send: Callable[[], Response], status: int = 200, *, unprepared: int = 0) -> Cost:
    """Count what a request sends on a connection that has prepared its statements.

    unprepared: how many of them the ORM parses each time.
    """
    with CaptureQueriesContext(connection) as captured, round_trips() as made:
        response = send()
    assert response.status == status, response.body
    assert made.sent.count("Parse") == unprepared
    return Cost(sum(not query["sql"].startswith(BOUNDARIES) for query in captured), made.count)


def test_a_ping_takes_one_statement(api: PartnerClient, ada: User) -> None:
    api.get("/v1/ping")
    assert cost(lambda: api.get("/v1/ping")) == (1, 1)


def test_the_first_use_of_a_key_is_recorded_by_one_more(api: PartnerClient, other_api: PartnerClient) -> None:
    other_api.get("/v1/ping")
    assert [cost(lambda: api.get("/v1/ping")) for _ in range(3)] == [(2, 2), (1, 1), (1, 1)]


def test_a_read_takes_one_round_trip(api: PartnerClient, ada: User) -> None:
    api.get(ADA)
    assert cost(lambda: api.get(ADA)) == (2, 1)


@pytest.mark.parametrize(
    ("path", "unprepared"),
    [
        (f"{ADA}/nothing", 0),
        ("/v1/users/nobody", 0),
        ("/v1/users/nobody/transactions", 0),
        (f"{ADA}/documents/{UUID(int=0)}", 1),
    ],
)
def test_a_404_takes_at_most_two_round_trips(api: PartnerClient, ada: User, path: str, unprepared: int) -> None:
    api.get(path)
    assert cost(lambda: api.get(path), 404, unprepared=unprepared).round_trips <= 2


def test_a_request_that_is_not_authenticated_takes_at_most_one(api: PartnerClient, ada: User) -> None:
    path = f"{ADA}/transactions"
    api.get(path)
    assert cost(lambda: api.get(path, secret="wrong"), 401).round_trips == 1
    assert cost(lambda: api.get(path, timestamp="2020-01-01T00:00:00Z"), 401) == (0, 0)


@pytest.mark.parametrize("what", ["transactions", "documents"])
def test_a_page_takes_one_round_trip_whatever_its_length(api: PartnerClient, ada: User, what: str) -> None:
    add = factories.add_conversions if what == "transactions" else add_documents
    assert_each_page_takes_one(api, f"{ADA}/{what}?limit=100", 0)
    add(ada, [NOON + timedelta(hours=n) for n in range(101)])
    assert_each_page_takes_one(api, f"{ADA}/{what}?limit=1", 1)
    assert_each_page_takes_one(api, f"{ADA}/{what}?limit=100", 100)


def test_a_page_of_users_takes_one_round_trip_whatever_its_length(api: PartnerClient, ada: User) -> None:
    assert_each_page_takes_one(api, "/v1/users?limit=100", 1)
    for _ in range(5):
        factories.UserFactory.create(partner=ada.partner)
    for query, count in {"limit=1": 1, "limit=5": 5, "limit=5&status=pendingCompliance": 5, "limit=100": 6}.items():
        assert_each_page_takes_one(api, f"/v1/users?{query}", count)


def assert_each_page_takes_one(api: PartnerClient, path: str, items: int) -> None:
    """The first page, of so many items, and that after it take one round trip."""
    page = api.get(path).json()
    assert len(page["items"]) == items
    assert cost(lambda: api.get(path)) == (2, 1)
    if cursor := page["nextCursor"]:
        api.get(f"{path}&cursor={cursor}")
        assert cost(lambda: api.get(f"{path}&cursor={cursor}")) == (2, 1)


def test_a_documents_file_takes_two_one_to_record_it_and_none_while_it_is_sent(
    api: PartnerClient, ada: User, folder: Path
) -> None:
    made = add_document(ada, LONG)
    path = f"{ADA}/documents/{made.document_id}"
    api.get(path)
    assert cost(lambda: api.get(path), unprepared=1) == (4, 3)


# --- Writes, outside of a transaction of the test's ---


@pytest.fixture
def committing(committed_partner: Partner) -> PartnerClient:
    """A client with a user `ada`, whose connection has prepared the statements of every write."""
    client = factories.client_of(committed_partner, in_process)
    assert client.post("/v1/users", factories.user_body(externalId="ada")).status == 201
    assert client.post("/v1/users", factories.user_body(), key=str(uuid4())).status == 201
    for key in (None, str(uuid4())):
        assert client.patch(ADA, {"city": f"Prepared {key}"}, key=key).status == 200
        assert client.patch(ADA, {"city": f"Prepared {key}"}, key=key).status == 200
    return client


@pytest.mark.parametrize("key", [False, True], ids=["no key", "idempotency key"])
def test_a_create(committing: PartnerClient, *, key: bool) -> None:
    """API key; BEGIN, lock, stored response, insert; response, COMMIT."""
    body = factories.user_body()
    created = cost(lambda: committing.post("/v1/users", body, key=str(uuid4()) if key else None), 201)
    assert created == ((5, 3) if key else (3, 3))


@pytest.mark.parametrize("key", [False, True], ids=["no key", "idempotency key"])
def test_an_update(committing: PartnerClient, *, key: bool) -> None:
    """API key; BEGIN, lock, stored response, user; update; response, COMMIT."""
    updated = cost(lambda: committing.patch(ADA, {"city": "Ottawa"}, key=str(uuid4()) if key else None))
    assert updated == ((6, 4) if key else (4, 4))


def test_an_update_that_changes_nothing_writes_no_user(committing: PartnerClient) -> None:
    """API key; BEGIN, signature, user; COMMIT."""
    committing.patch(ADA, {"city": "Ottawa"})
    assert cost(lambda: committing.patch(ADA, {"city": "Ottawa"})) == (3, 3)


def test_a_replay(committing: PartnerClient) -> None:
    """API key; BEGIN, lock, stored response, user; ROLLBACK."""
    key = str(uuid4())
    for _ in range(2):
        committing.patch(ADA, {"city": "Ottawa"}, key=key)
    assert cost(lambda: committing.patch(ADA, {"city": "Ottawa"}, key=key)) == (4, 3)


def test_a_write_that_is_refused_for_its_body(committing: PartnerClient) -> None:
    """API key."""
    assert cost(lambda: committing.post("/v1/users", {}), 400) == (1, 1)
