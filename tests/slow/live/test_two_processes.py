"""Two processes of the service on one database: simultaneous requests, conflicts, failures between two statements."""

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import Any

import psycopg
import pytest
from django.db import connection

from config.serve import THREADS
from core.database import serving_role, statements
from partners.authentication import keys
from partners.models import IdempotencyRecord, Mode, Partner, UsedSignature
from tests import factories
from tests.conftest import database_url
from tests.slow.live.conftest import Server, blocked_by
from tests.support.at_once import at_once
from tests.support.client import PartnerClient, Response, in_process, now
from tests.support.responses import failing_fields
from tests.support.watched import wait_until
from users.models import User, UserEvent

Clients = tuple[PartnerClient, PartnerClient]
Session = Callable[[], psycopg.Connection[Any]]

LOCK_USER = "SELECT FROM users_user WHERE external_id = %s FOR UPDATE"
REQUESTS = "/v1/sandbox/requests?limit=100"


@pytest.fixture
def committed_sandbox(partner: Partner) -> Partner:
    """A sandbox partner that the services see."""
    return factories.PartnerFactory.create(slug=f"{partner.slug}-sandbox", mode=Mode.SANDBOX)


# Requests at the same moment have one effect and one response


def test_twenty_duplicates_under_one_key_give_one_user_and_one_answer(clients: Clients, partner: Partner) -> None:
    body, key = factories.user_body(), str(uuid.uuid4())
    responses = at_once(20, lambda n: clients[n % 2].post("/v1/users", body, key=key))
    assert {(a.status, a.body, a.header("Location")) for a in responses} == {
        (201, responses[0].body, f"/v1/users/{body['externalId']}")
    }
    assert Counter(a.header("Idempotent-Replayed") for a in responses) == {"true": 19, None: 1}
    assert User.objects.filter(partner=partner).count() == 1


def test_thirty_creates_of_one_external_id_give_one_user_and_29_conflicts(clients: Clients, partner: Partner) -> None:
    body = factories.user_body()
    responses = at_once(30, lambda n: clients[n % 2].post("/v1/users", body))
    assert Counter(a.status for a in responses) == {201: 1, 409: 29}
    assert User.objects.filter(partner=partner).count() == 1


def test_one_key_for_two_bodies_at_once_lets_one_through(clients: Clients, partner: Partner) -> None:
    bodies, key = [factories.user_body(), factories.user_body()], str(uuid.uuid4())
    responses = at_once(10, lambda n: clients[n % 2].post("/v1/users", bodies[n % 2], key=key))
    assert {a.status for a in responses} == {201, 400}
    assert User.objects.filter(partner=partner).count() == 1


def test_a_patch_sent_twenty_times_with_one_signature_takes_effect_once(clients: Clients) -> None:
    body = factories.user_body()
    clients[0].post("/v1/users", body)
    timestamp = now()
    path = f"/v1/users/{body['externalId']}"
    responses = at_once(20, lambda n: clients[n % 2].patch(path, {"city": "Ottawa"}, timestamp=timestamp))
    assert Counter(a.status for a in responses) == {200: 1, 401: 19}


def test_updates_at_once_are_all_kept_in_the_history(clients: Clients, partner: Partner) -> None:
    body = factories.user_body()
    clients[0].post("/v1/users", body)
    path = f"/v1/users/{body['externalId']}"
    responses = at_once(12, lambda n: clients[n % 2].patch(path, {"city": f"Ottawa {n}"}, key=str(uuid.uuid4())))
    assert {a.status for a in responses} == {200}
    assert len({a.json()["updatedAt"] for a in responses}) == 12
    cities = UserEvent.objects.filter(pgh_obj__partner=partner).values_list("city", flat=True)
    assert set(cities) == {"Toronto"} | {f"Ottawa {n}" for n in range(12)}


def test_an_update_and_a_create_under_one_key_do_not_both_happen(clients: Clients, partner: Partner) -> None:
    body, key = factories.user_body(), str(uuid.uuid4())
    clients[0].post("/v1/users", body)
    path = f"/v1/users/{body['externalId']}"
    another = factories.user_body()
    responses = at_once(
        8,
        lambda n: (
            clients[n % 2].patch(path, {"city": "Ottawa"}, key=key)
            if n < 4
            else clients[n % 2].post("/v1/users", another, key=key)
        ),
    )
    succeeded = {a.status for a in responses} - {400}
    assert len(succeeded) == 1
    changed = User.objects.filter(partner=partner, city="Ottawa").exists()
    assert changed + User.objects.filter(partner=partner, external_id=another["externalId"]).exists() == 1
    assert IdempotencyRecord.objects.filter(partner=partner).count() == 1


# What one process knows the other knows


def ids(client: PartnerClient) -> list[str]:
    return [one["requestId"] for one in client.get(REQUESTS).json()["items"]]


def test_requests_to_any_process_are_in_one_list(servers: tuple[Server, Server], committed_sandbox: Partner) -> None:
    first = factories.client_of(committed_sandbox, servers[0].transport)
    clients = first, PartnerClient(first.api_key, first.secret, servers[1].transport)
    sent = [clients[number % 2].get("/v1/ping").header("X-Request-Id") for number in range(10)]
    sent.append(clients[0].get("/v1/ping", secret="another").header("X-Request-Id"))
    assert ids(clients[0]) == ids(clients[1]) == sent[::-1]


def statuses(clients: Clients) -> set[int]:
    """The statuses of several requests to each process, so that each of its threads is met."""
    return {clients[n % 2].get("/v1/ping").status for n in range(8)}


@pytest.mark.parametrize(
    "withdraw",
    [
        lambda partner: keys.revoke(partner.api_keys.get()),
        lambda partner: Partner.objects.filter(pk=partner.pk).update(enabled=False),
    ],
    ids=["key revoked", "partner disabled"],
)
def test_a_key_is_refused_from_the_next_request_on(
    clients: Clients, partner: Partner, withdraw: Callable[[Partner], object]
) -> None:
    assert statuses(clients) == {200}
    withdraw(partner)
    assert statuses(clients) == {401}


# Writes that PostgreSQL rolls back for a conflict are retried


TRY_LOCK_KEY = "SELECT pg_try_advisory_xact_lock(1, hashtext(%s || '/' || %s))"
RECORD_CONVERSION = """
    INSERT INTO transactions_conversion (partner_id, user_id, is_sandbox, conversion_id, created_at, type,
                                         from_currency, from_amount, to_currency, to_amount, rate)
    SELECT partner_id, id, is_sandbox, 'cv-1', '2026-01-01T00:00:00Z', 'conversion', 'CAD', 100, 'USD', 71.5, 0.715
      FROM users_user
     WHERE external_id = %s
"""
LOCK_KEY = TRY_LOCK_KEY.replace("_try", "")


def wait_for_waiting(session: Session, blocker: psycopg.Connection[Any]) -> None:
    observer = session()
    observer.autocommit = True
    wait_until(lambda: blocked_by(blocker, observer))


def test_the_victim_of_a_deadlock_is_done_again(clients: Clients, partner: Partner, session: Session) -> None:
    body = factories.user_body()
    path = f"/v1/users/{body['externalId']}"
    clients[0].post("/v1/users", body)
    for attempt in count():
        key, city, other = str(uuid.uuid4()), f"Ottawa {attempt}", session()
        other.execute(LOCK_USER, [body["externalId"]])
        with ThreadPoolExecutor(1) as pool:
            # It has locked its key and waits for the user; the other has the user and waits for the key.
            begun = time.monotonic()
            response = pool.submit(clients[0].patch, path, {"city": city}, key=key)
            wait_for_waiting(session, other)
            assert other.execute(TRY_LOCK_KEY, [str(partner.pk), key]).fetchone() == (False,)
            try:
                other.execute(LOCK_KEY, [str(partner.pk), key])
            except psycopg.errors.DeadlockDetected:
                is_victim = False
            else:
                # Only a request that was undone has unlocked the key.
                is_victim = time.monotonic() - begun < statements.RETRY_WITHIN_SECONDS
            other.rollback()
            status = response.result().status
        # On a busy machine the other may be the victim, or the request too late to be done again: then once more.
        if is_victim:
            break
    assert status == 200
    assert User.objects.get(partner=partner).city == city
    assert IdempotencyRecord.objects.filter(partner=partner, key=key, status=200).count() == 1
    assert UserEvent.objects.filter(pgh_obj__partner=partner, city=city).count() == 1


def test_a_write_that_waits_for_another_keeps_what_that_wrote(clients: Clients, session: Session) -> None:
    for key in (None, str(uuid.uuid4())):
        overtake(clients[0], session, key)


def overtake(api: PartnerClient, session: Session, key: str | None) -> None:
    """Change a user while a write, whose signature is stored or key locked, waits for it."""
    body = factories.user_body()
    api.post("/v1/users", body)
    other = session()
    other.execute("UPDATE users_user SET city = 'Halifax' WHERE external_id = %s", [body["externalId"]])
    with ThreadPoolExecutor(1) as pool:
        response = pool.submit(api.patch, f"/v1/users/{body['externalId']}", {"firstName": "Augusta"}, key=key)
        wait_for_waiting(session, other)
        other.commit()
        assert response.result().status == 200
    user = User.objects.get(external_id=body["externalId"])
    assert (user.city, user.first_name) == ("Halifax", "Augusta")


def test_a_write_that_another_overtook_is_done_again(partner: Partner, user: str, session: Session) -> None:
    """Where transactions fail rather than see what was committed after they began: in this process they do."""
    own = factories.client_of(partner, in_process)
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_isolation = 'repeatable read'")
    try:
        for key, name in ((None, "Augusta"), (str(uuid.uuid4()), "Byron")):
            other = session()
            other.execute("UPDATE users_user SET city = %s WHERE external_id = %s", [f"City of {name}", user])
            with ThreadPoolExecutor(1) as pool:
                overtaking = pool.submit(commit_once_waited_for, session, other)
                assert own.patch(f"/v1/users/{user}", {"firstName": name}, key=key).status == 200
                overtaking.result()
            found = User.objects.get(partner=partner)
            assert (found.city, found.first_name) == (f"City of {name}", name)
    finally:
        connection.close()


def commit_once_waited_for(session: Session, blocker: psycopg.Connection[Any]) -> None:
    wait_for_waiting(session, blocker)
    blocker.commit()


def test_simultaneous_conversions_without_a_time_are_the_same(
    servers: tuple[Server, Server], committed_sandbox: Partner, session: Session
) -> None:
    client = factories.client_of(committed_sandbox, servers[0].transport)
    user = factories.user_body()
    client.post("/v1/users", user)
    sides = {"from": {"currency": "CAD", "amount": "100"}, "to": {"currency": "USD", "amount": "71.5"}, "rate": "0.715"}
    other = session()
    other.execute(LOCK_USER, [user["externalId"]])
    other.execute(RECORD_CONVERSION, [user["externalId"]])
    with ThreadPoolExecutor(1) as pool:
        body = {"items": [sides | {"conversionId": "cv-1"}]}
        response = pool.submit(client.post, f"/v1/sandbox/users/{user['externalId']}/transactions", body)
        wait_for_waiting(session, other)
        other.commit()
        assert response.result().status == 201
    assert response.result().json()["items"][0]["createdAt"] == "2026-01-01T00:00:00.000000Z"


# A failure between two statements leaves nothing behind, and the request can be repeated


WAITING_FOR_KEY = """
    SELECT pid FROM pg_stat_activity
     WHERE application_name = 'partner-service' AND datname = current_database() AND wait_event_type = 'Lock'
       AND query LIKE '%FROM partners_apikey key JOIN%'
"""


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
    clients: Clients, partner: Partner, user: str, session: Session
) -> None:
    key, blocker = str(uuid.uuid4()), session()
    # In this process, whose timeout is shortened.
    own = factories.client_of(partner, in_process)
    blocker.execute(LOCK_USER, [user])
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '100ms'")
    response = own.patch(f"/v1/users/{user}", {"city": "Ottawa"}, key=key)
    assert response.status == 503
    connection.close()
    blocker.rollback()
    assert not IdempotencyRecord.objects.filter(partner=partner).exists()
    assert clients[0].patch(f"/v1/users/{user}", {"city": "Ottawa"}, key=key).status == 200


def test_a_replay_waits_for_no_other_writer_of_the_user(clients: Clients, user: str, session: Session) -> None:
    path, key = f"/v1/users/{user}", str(uuid.uuid4())
    first = clients[0].patch(path, {"city": "Ottawa"}, key=key)
    session().execute(LOCK_USER, [user])
    again = clients[1].patch(path, {"city": "Ottawa"}, key=key)
    assert (again.status, again.body, again.header("Idempotent-Replayed")) == (200, first.body, "true")
    assert failing_fields(clients[1].patch(path, {"city": "Halifax"}, key=key)) == ["Idempotency-Key"]


def test_connections_lost_while_idle_cost_no_request(clients: Clients, session: Session) -> None:
    assert clients[0].get("/v1/ping").status == 200
    ended = session().execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'partner-service'"
        " AND datname = current_database() AND pid <> %s",
        [connection.connection.info.backend_pid],  # the test's own
    )
    assert ended.rowcount >= 1
    assert [clients[n % 2].get("/v1/ping").status for n in range(8)] == [200] * 8
