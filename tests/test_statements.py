"""What a request asks of the database: few statements, and as many for a long list as for a short one."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from partners import prepared
from tests import factories
from tests.client import PartnerClient, Response
from tests.documents import LONG, add_document, add_rows, folder
from users.models import User

__all__ = ("folder",)

ADA = "/v1/users/ada"
NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
# The test's own transaction makes savepoints of the service's transactions.
BOUNDARIES = ("SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK TO SAVEPOINT")

Count = Callable[[Callable[[], Response]], int]


@pytest.fixture
def ada(create_user: Callable[..., Response]) -> User:
    """A user of a partner whose key has been used just now, so that its use is not recorded again."""
    return User.objects.get(pk=create_user(externalId="ada").json()["userId"])


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Count:
    """Counts the statements of a request that succeeds; Django's own record does not see prepared ones."""

    def statements(send: Callable[[], Response]) -> int:
        sent: list[str] = []

        def recorded(execute: Callable[..., Any]) -> Callable[..., Any]:
            def record(by: Any, statement: Any, *given: Any, **options: Any) -> Any:
                sent.append(str(statement).strip())
                return execute(by, statement, *given, **options)

            return record

        with monkeypatch.context() as recording:
            recording.setattr(psycopg.Cursor, "execute", recorded(psycopg.Cursor.execute))
            for function in ("execute", "leave_waiting", "leave_for_commit"):
                recording.setattr(prepared, function, recorded(getattr(prepared, function)))
            answer = send()
        assert answer.status < 300, answer.body
        return sum(not statement.startswith(BOUNDARIES) for statement in sent)

    return statements


def test_a_ping_takes_one_statement(api: PartnerClient, ada: User, count: Count) -> None:
    assert count(lambda: api.get("/v1/ping")) == 1


def test_the_first_use_of_a_key_is_recorded_by_one_more(api: PartnerClient, count: Count) -> None:
    assert [count(lambda: api.get("/v1/ping")) for _ in range(3)] == [2, 1, 1]


def test_a_read_takes_one(api: PartnerClient, ada: User, count: Count) -> None:
    assert count(lambda: api.get(ADA)) == 1


@pytest.mark.parametrize("rows", [0, 5, 500])
@pytest.mark.parametrize("limit", [1, 100])
def test_a_page_takes_one_whatever_its_length_and_an_empty_one_four(
    api: PartnerClient, ada: User, count: Count, rows: int, limit: int
) -> None:
    factories.add_conversions(ada, [NOON + timedelta(hours=n) for n in range(rows)])
    assert count(lambda: api.get(f"{ADA}/transactions?limit={limit}")) == (1 if rows else 4)


def test_a_further_page_takes_one(api: PartnerClient, ada: User, count: Count) -> None:
    factories.add_conversions(ada, [NOON] * 500)
    cursor = api.get(f"{ADA}/transactions").json()["nextCursor"]
    assert count(lambda: api.get(f"{ADA}/transactions?cursor={cursor}")) == 1


@pytest.mark.parametrize("rows", [0, 5, 200])
def test_a_page_of_documents_takes_one_whatever_its_length(
    api: PartnerClient, ada: User, count: Count, rows: int
) -> None:
    add_rows(ada, [NOON + timedelta(hours=n) for n in range(rows)])
    assert count(lambda: api.get(f"{ADA}/documents?limit=100")) == (1 if rows else 4)
    if cursor := api.get(f"{ADA}/documents?limit=1").json()["nextCursor"]:
        assert count(lambda: api.get(f"{ADA}/documents?cursor={cursor}")) == 1


def test_a_documents_file_takes_two_and_none_while_it_is_sent(
    api: PartnerClient, ada: User, count: Count, folder: Path
) -> None:
    made = add_document(ada, LONG)
    assert count(lambda: api.get(f"{ADA}/documents/{made.document_id}")) == 2


@pytest.mark.parametrize("key", [None, str(uuid4())], ids=["no key", "idempotency key"])
def test_a_create_takes_at_most_three(api: PartnerClient, ada: User, count: Count, key: str | None) -> None:
    body = factories.user_body()
    assert count(lambda: api.post("/v1/users", body, key=key)) == (3 if key else 2)


@pytest.mark.parametrize("key", [None, str(uuid4())], ids=["no key", "idempotency key"])
def test_an_update_takes_at_most_four(api: PartnerClient, ada: User, count: Count, key: str | None) -> None:
    assert count(lambda: api.patch(ADA, {"city": "Ottawa"}, key=key)) == (4 if key else 3)


def test_a_replay_takes_three(api: PartnerClient, ada: User, count: Count) -> None:
    key = str(uuid4())
    api.patch(ADA, {"city": "Ottawa"}, key=key)
    assert count(lambda: api.patch(ADA, {"city": "Ottawa"}, key=key)) == 3


def test_an_update_that_changes_nothing_writes_no_user(api: PartnerClient, ada: User, count: Count) -> None:
    assert count(lambda: api.patch(ADA, {"city": "Toronto"})) == 2
