"""A failure between two statements leaves nothing behind, and the request can be repeated."""

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection

from config.serve import THREADS
from core.database import serving_role
from partners.models import IdempotencyRecord, Partner, UsedSignature
from tests import factories
from tests.conftest import database_url
from tests.slow.live.conftest import blocked_by, serving
from tests.support.client import PartnerClient, Response, now
from tests.support.watched import promptly, wait_until
from users.models import User, UserEvent

Clients = tuple[PartnerClient, PartnerClient]
Session = Callable[[], psycopg.Connection[Any]]

WAITING_FOR_KEY = """
    SELECT pid FROM pg_stat_activity
     WHERE application_name = 'partner-service' AND datname = current_database() AND wait_event_type = 'Lock'
       AND query LIKE '%FROM partners_apikey key JOIN%'
"""
LOCK_USER = "SELECT FROM users_user WHERE external_id = %s FOR UPDATE"


@contextmanager
def sent(send: Callable[[], Response]) -> Iterator[Callable[[], Response]]:
    """Sends in the background; what is given waits for the response."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(send).result


@pytest.fixture
def user(clients: Clients) -> str:
    body = factories.user_body()
    assert clients[0].post("/v1/users", body).status == 201
    return str(body["externalId"])


def cut_while_waiting(session: Session, blocker: psycopg.Connection[Any]) -> None:
    """Ends the database session of the request that waits for `blocker`, then lets go."""
    observer = session()
    observer.autocommit = True
    wait_until(lambda: blocked_by(blocker, observer))
    (waiting,) = blocked_by(blocker, observer)
    assert observer.execute("SELECT pg_terminate_backend(%s)", [waiting]).fetchone() == (True,)
    blocker.rollback()


@pytest.fixture
def history_locked(django_db_setup: None) -> Iterator[psycopg.Connection[Any]]:
    """A session that lets nothing be written to the users' history: an update waits when it has locked its user."""
    with psycopg.connect(database_url(serving_role.OWNER)) as blocker:
        blocker.execute("LOCK TABLE users_userevent IN SHARE MODE")
        yield blocker


@pytest.mark.parametrize("key", [None, str(uuid.uuid4())], ids=["no key", "idempotency key"])
@pytest.mark.parametrize("place", ["first statements", "last"])
def test_a_cut_update_leaves_nothing_and_may_be_sent_again_as_it_was(
    clients: Clients,
    partner: Partner,
    user: str,
    session: Session,
    request: pytest.FixtureRequest,
    place: str,
    key: str | None,
) -> None:
    """The lock of its key, or its signature, is sent with the statement that locks the user."""
    timestamp = now()
    if place == "last":
        blocker = request.getfixturevalue("history_locked")
    else:
        blocker = session()
        blocker.execute(LOCK_USER, [user])

    def send(number: int = 0) -> Response:
        return clients[number].patch(f"/v1/users/{user}", {"city": "Ottawa"}, key=key, timestamp=timestamp)

    with sent(send) as response:
        cut_while_waiting(session, blocker)
        assert (response().status, response().json()["error"]) == (503, "internal_error")
    assert int(response().header("Retry-After") or 0) >= 1
    assert not IdempotencyRecord.objects.filter(partner=partner).exists()
    assert not UsedSignature.objects.filter(partner=partner).exists()
    assert User.objects.get(partner=partner).city == "Toronto"
    retried, again = send(), send(1)
    assert (retried.status, retried.header("Idempotent-Replayed")) == (200, None)
    assert (again.status, again.header("Idempotent-Replayed")) == ((200, "true") if key else (401, None))
    assert UserEvent.objects.filter(pgh_obj__partner=partner, city="Ottawa").count() == 1


@contextmanager
def keys_locked() -> Iterator[psycopg.Connection[Any]]:
    """A session that lets nobody read the API keys: a request waits with its first statement."""
    with psycopg.connect(database_url(serving_role.OWNER)) as blocker:
        blocker.execute("LOCK TABLE partners_apikey IN ACCESS EXCLUSIVE MODE")
        yield blocker


@pytest.fixture
def connected_everywhere(clients: Clients, session: Session) -> None:
    """Each thread has a connection, and so may meet one that is lost.

    A thread opens its connection with its first request. All threads get one, because no request ends before all wait.
    """
    observer = session()
    observer.autocommit = True
    threads = THREADS * len(clients)
    with keys_locked() as blocker, ThreadPoolExecutor(10 * threads) as pool:
        responses: list[Future[Response]] = []

        def all_wait() -> bool:
            # The server starts a thread when a request comes and none is idle, so a few requests more may be needed.
            responses.extend(pool.submit(client.get, "/v1/ping") for client in clients for _ in range(THREADS))
            return len(observer.execute(WAITING_FOR_KEY).fetchall()) == threads

        wait_until(all_wait)
        blocker.rollback()
        assert {response.result().status for response in responses} == {200}


@pytest.mark.parametrize("key", [None, str(uuid.uuid4())], ids=["no key", "idempotency key"])
def test_a_create_cut_before_its_first_answer_is_retried_and_takes_effect_once(
    clients: Clients, partner: Partner, connected_everywhere: None, session: Session, key: str | None
) -> None:
    body = factories.user_body()
    with keys_locked() as blocker, sent(lambda: clients[0].post("/v1/users", body, key=key)) as response:
        cut_while_waiting(session, blocker)
        assert (response().status, response().header("Idempotent-Replayed")) == (201, None)
    assert User.objects.filter(partner=partner, external_id=body["externalId"]).count() == 1
    again = clients[1].post("/v1/users", body, key=key)
    assert (again.status, again.header("Idempotent-Replayed")) == ((201, "true") if key else (409, None))


def test_waiting_longer_than_the_lock_timeout_is_a_503_and_nothing_has_happened(
    partner: Partner, session: Session
) -> None:
    key, body = str(uuid.uuid4()), factories.user_body()
    user = body["externalId"]
    blocker = session()
    with serving(DJANGO_SETTINGS_MODULE="config.settings") as server:
        client = factories.client_of(partner, server.transport)
        assert client.post("/v1/users", body).status == 201
        blocker.execute(LOCK_USER, [user])
        response = promptly(lambda: client.patch(f"/v1/users/{user}", {"city": "Ottawa"}, key=key))
        assert response.status == 503
        blocker.rollback()
        assert not IdempotencyRecord.objects.filter(partner=partner).exists()
        assert client.patch(f"/v1/users/{user}", {"city": "Ottawa"}, key=key).status == 200


def test_connections_lost_while_idle_cost_no_request(clients: Clients, session: Session) -> None:
    assert clients[0].get("/v1/ping").status == 200
    ended = session().execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'partner-service'"
        " AND datname = current_database() AND pid <> %s",
        [connection.connection.info.backend_pid],  # the test's own
    )
    assert ended.rowcount >= 1
    assert [clients[n % 2].get("/v1/ping").status for n in range(8)] == [200] * 8
