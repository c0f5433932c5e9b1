"""Lost connections, response timeouts, stale plans, and an unreachable database."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import psycopg
import pytest
from django.db import (
    InterfaceError,
    NotSupportedError,
    OperationalError,
    close_old_connections,
    connection,
    connections,
    transaction,
)
from django.db.utils import DataError, InternalError

from core import circuit_breaker
from core.circuit_breaker import CircuitBreaker
from core.database import base, errors, serving_role, statements
from core.database.pipeline import BoundedConnection, Query, ResponseTimeoutError
from core.request_context import request_context
from partners.api import handler
from partners.api.base import PartnerAPIView
from partners.api.throttling import PartnerRateThrottle
from partners.models import Partner
from partners.monitoring import health
from tests.conftest import database_url
from tests.support.client import PartnerClient
from tests.support.watched import wait_until

ONE = "SELECT %s::int + 1"
FAIL = "SELECT 1 / %s::int"
NAME = "SELECT name FROM partners_partner WHERE id = %s"
RENAME = "UPDATE partners_partner SET name = %s WHERE id = %s RETURNING name"


# The circuit's clock; it stands still, so that no pause ends on a busy machine.
NOW = [1000.0]


@pytest.fixture(autouse=True)
def own_circuit(monkeypatch: pytest.MonkeyPatch) -> CircuitBreaker:
    """A separate circuit for each test."""
    monkeypatch.setattr(circuit_breaker, "time", SimpleNamespace(monotonic=lambda: NOW[0]))
    monkeypatch.setitem(base._circuits, connection.alias, base._new_circuit())
    return base._circuits[connection.alias]


@pytest.fixture
def partner(committed_partner: Partner) -> Iterator[Partner]:
    """A partner named `before`, outside of a transaction, on a connection of its own."""
    Partner.objects.filter(pk=committed_partner.pk).update(name="before")
    url = database_url(serving_role.SERVING)
    yield committed_partner
    connection.close()
    # Sessions of closed clients sleep on, and may hold locks.
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            """SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
                WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
                  AND state = 'active' AND query LIKE 'SELECT pg_sleep%'"""
        )


def cut() -> None:
    """Terminate this thread's session from another one."""
    connection.ensure_connection()
    backend = connection.connection.info.backend_pid
    with psycopg.connect(database_url(serving_role.SERVING), autocommit=True) as other:
        assert other.execute("SELECT pg_terminate_backend(%s, 60000)", [backend]).fetchone() == (True,)


def backend_pid() -> int:
    (pid,) = statements.fetch_one("SELECT pg_backend_pid() + %s", (0,)) or (0,)
    return int(pid)


def name(partner: Partner) -> str:
    return Partner.objects.values_list("name", flat=True).get(pk=partner.pk)


# --- Lost connections ---


def test_a_connection_with_an_error_is_replaced_by_the_next_request_or_closed_before_it(partner: Partner) -> None:
    for closes in (False, True):
        before = backend_pid()
        with pytest.raises(OperationalError):
            statements.fetch_all("SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(%s)", (60,))
        if closes:
            close_old_connections()
            assert connection.connection is None
        assert statements.fetch_first(Query("SELECT pg_backend_pid()", ()))[0] != [(before,)]


@pytest.mark.parametrize("path", ["/v1/users", "/admin/"])
@pytest.mark.parametrize("is_broken", [False, True])
def test_a_transaction_that_something_has_left_open_is_rolled_back_before_a_request(
    partner: Partner, path: str, *, is_broken: bool
) -> None:
    transaction.atomic().__enter__()
    statements.run(RENAME, ("left", partner.pk))
    if is_broken:
        connection.close()
    handler.begin_request({"PATH_INFO": path})
    with transaction.atomic(durable=True):
        assert name(partner) == "before"
        statements.run(RENAME, ("after", partner.pk))
    assert connection.get_autocommit()
    connection.close()
    assert name(partner) == "after"


def test_a_commit_that_ends_with_the_requests_time_is_a_success(
    partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = cast("Any", connection)._commit

    def commit_slowly() -> None:
        commit()
        request_context.deadline = time.monotonic() - 1

    monkeypatch.setattr(connection, "_commit", commit_slowly)
    with request_due_in(60), transaction.atomic():
        statements.run(RENAME, ("after", partner.pk))
    assert name(partner) == "after"


def test_after_a_transaction_that_could_not_end_the_next_one_is_a_transaction(
    partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rename() -> None:
        with transaction.atomic():
            statements.run(RENAME, ("never", partner.pk))

    with monkeypatch.context() as broken:
        # No DatabaseError: Django does not roll back.
        broken.setattr(connection, "_commit", Mock(side_effect=InterfaceError))
        with pytest.raises(OperationalError):
            rename()
    with transaction.atomic():
        statements.run(RENAME, ("after", partner.pk))
    connection.close()
    assert name(partner) == "after"


def test_a_lost_connection_is_an_operational_error(partner: Partner) -> None:
    statements.fetch_one(ONE, (1,))
    cut()
    with pytest.raises(OperationalError):
        statements.fetch_one(ONE, (1,))
    connection.close_if_unusable_or_obsolete()
    assert connection.connection is None
    assert statements.fetch_one(ONE, (1,)) == (2,)


def test_the_first_statements_of_a_request_are_sent_again_on_a_new_connection(partner: Partner) -> None:
    before = backend_pid()
    cut()
    assert statements.fetch_first(Query(ONE, (1,)), Query(ONE, (2,))) == [[(2,)], [(3,)]]
    assert backend_pid() != before


def test_the_first_statements_are_sent_again_only_once(partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    connect, connections_made = BoundedConnection.connect, []

    def connect_and_lose(**options: Any) -> Any:
        made = connect(**options)
        connections_made.append(made)
        with psycopg.connect(database_url(serving_role.SERVING), autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 60000)", [made.info.backend_pid])
        return made

    statements.fetch_one(ONE, (1,))
    cut()
    monkeypatch.setattr(BoundedConnection, "connect", connect_and_lose)
    with pytest.raises(OperationalError):
        statements.fetch_first(Query(ONE, (1,)))
    assert len(connections_made) == 1


@pytest.mark.parametrize("when", ["first", "second", "commit", "commit with a queued statement"])
def test_a_connection_lost_in_a_transaction_commits_nothing(partner: Partner, when: str) -> None:
    def write() -> None:
        with transaction.atomic():
            statements.queue(Query(RENAME, ("claimed", partner.pk)))
            if when == "first":
                cut()
            statements.fetch_one(NAME, (partner.pk,))
            if when == "second":
                cut()
            statements.fetch_one(NAME, (partner.pk,))
            cut()
            if when == "commit with a queued statement":
                statements.queue(Query(RENAME, ("answered", partner.pk)))

    with pytest.raises(OperationalError):
        write()
    connection.close_if_unusable_or_obsolete()
    assert statements.fetch_one(NAME, (partner.pk,)) == ("before",)
    with transaction.atomic():
        statements.queue(Query(RENAME, ("claimed", partner.pk)))
    assert name(partner) == "claimed"


def test_a_connection_lost_in_a_transaction_is_not_replaced_there(partner: Partner) -> None:
    def write() -> None:
        with transaction.atomic():
            statements.fetch_one(NAME, (partner.pk,))
            cut()
            statements.fetch_first(Query(RENAME, ("by itself", partner.pk)))

    with pytest.raises(OperationalError):
        write()
    assert name(partner) == "before"


def test_the_end_of_a_transaction_whose_connection_was_lost_does_not_connect(
    partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attempt to connect can take seconds."""
    hooks: list[int] = []

    def write() -> None:
        with transaction.atomic():
            transaction.on_commit(lambda: hooks.append(1))
            statements.fetch_one(NAME, (partner.pk,))
            cut()
            statements.fetch_one(NAME, (partner.pk,))

    with pytest.raises(OperationalError):
        write()
    assert connection.connection is None
    assert name(partner) == "before"
    with transaction.atomic():
        statements.queue(Query(RENAME, ("afterwards", partner.pk)))
    assert (name(partner), hooks) == ("afterwards", [])


# --- Answer timeouts ---


@contextmanager
def answer_timeout(seconds: float) -> Iterator[None]:
    """Set the response timeout during the block."""
    connection.ensure_connection()
    driver: Any = connection.connection
    before, driver.response_seconds = driver.response_seconds, seconds
    try:
        yield
    finally:
        driver.response_seconds = before


SLEEP = "SELECT pg_sleep(%s)"


@contextmanager
def request_due_in(seconds: float) -> Iterator[None]:
    """Be in a request that may wait for the database until then."""
    request_context.deadline = time.monotonic() + seconds
    try:
        yield
    finally:
        request_context.deadline = None


@pytest.mark.parametrize(
    "send",
    [
        lambda: statements.fetch_one(SLEEP, (60,)),
        lambda: statements.fetch_first(Query(ONE, (1,)), Query(SLEEP, (60,)), Query(ONE, (1,))),
        lambda: connection.cursor().execute(SLEEP, (60,)),
    ],
    ids=["one", "several", "a cursor's"],
)
def test_an_answer_timeout_closes_the_connection(partner: Partner, send: Callable[[], object]) -> None:
    statements.fetch_one(SLEEP, (0,))
    driver: Any = connection.connection
    with answer_timeout(0.2), pytest.raises(OperationalError) as failure:
        send()
    assert isinstance(failure.value.__cause__, ResponseTimeoutError)
    assert driver.closed
    connection.close_if_unusable_or_obsolete()
    assert statements.fetch_one(ONE, (1,)) == (2,)


def test_an_answer_timeout_in_a_transaction_rolls_back(partner: Partner) -> None:
    statements.fetch_one(SLEEP, (0,))

    def write() -> None:
        with transaction.atomic():
            statements.queue(Query(RENAME, ("claimed", partner.pk)))
            statements.fetch_one(SLEEP, (60,))

    with answer_timeout(0.2), pytest.raises(OperationalError):
        write()
    assert connection.connection is None
    assert name(partner) == "before"


@pytest.mark.parametrize(
    "send",
    [
        lambda: statements.run(RENAME, ("late", 1)),
        lambda: connection.cursor().execute("UPDATE partners_partner SET name = 'late'"),
    ],
    ids=["a prepared statement", "a cursor's"],
)
def test_after_the_requests_deadline_no_statement_is_sent_and_no_connection_made(
    partner: Partner, send: Callable[[], object]
) -> None:
    statements.fetch_one(ONE, (1,))
    with request_due_in(-1):
        for _ in ("on the connection", "without one"):
            with pytest.raises(OperationalError):
                send()
            connection.close_if_unusable_or_obsolete()
            assert connection.connection is None
    assert name(partner) == "before"


def test_the_statements_of_a_request_share_its_time(partner: Partner) -> None:
    statements.fetch_one(SLEEP, (0,))

    def send() -> None:
        for _ in range(300):
            statements.fetch_one(SLEEP, (0.2,))

    with request_due_in(1), pytest.raises(OperationalError) as failure:
        send()
    assert isinstance(failure.value.__cause__, ResponseTimeoutError)


def test_a_simulated_wait_does_not_use_up_the_requests_time() -> None:
    with request_due_in(60):
        before = request_context.deadline or 0
        with request_context.without_deadline():
            assert request_context.deadline is None
            begun = time.monotonic()
            wait_until(lambda: time.monotonic() > begun)
        assert (request_context.deadline or 0) > before


def test_a_request_has_as_long_for_its_statements_as_one_of_them(
    api: PartnerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[float] = []

    def note(*_: object) -> bool:
        left.append((request_context.deadline or 0) - time.monotonic())
        return True

    monkeypatch.setattr(PartnerRateThrottle, "allow_request", note)
    assert api.get("/v1/ping").status == 200
    assert 0 < left[0] <= connection.settings_dict["RESPONSE_SECONDS"]
    assert request_context.deadline is None


def test_after_an_answer_timeout_requests_are_refused_at_once(partner: Partner) -> None:
    statements.fetch_one(SLEEP, (0,))
    with answer_timeout(0.2), suppress(OperationalError):
        statements.fetch_first(Query(SLEEP, (60,)))
    with pytest.raises(OperationalError, match="cannot be reached"):
        statements.fetch_first(Query(ONE, (1,)))


# --- Stale plans ---


@pytest.fixture
def widen(partner: Partner) -> Iterator[Callable[[], object]]:
    """Return what changes the columns of `SELECT value FROM widened`."""
    with psycopg.connect(database_url(serving_role.OWNER), autocommit=True) as owner:
        role = connection.settings_dict["USER"]
        owner.execute("CREATE TABLE widened (value varchar(10) DEFAULT 'x')")
        owner.execute(f'GRANT SELECT, INSERT, UPDATE ON widened TO "{role}"')
        owner.execute("INSERT INTO widened DEFAULT VALUES")
        try:
            yield partial(owner.execute, "ALTER TABLE widened ALTER value TYPE varchar(20)")
        finally:
            connection.close()
            owner.execute("DROP TABLE widened")


WIDENED = "SELECT value FROM widened WHERE value = %s"


def test_a_stale_plan_is_prepared_again(widen: Callable[[], object]) -> None:
    queries: tuple[Query[Any], ...] = (Query(ONE, (1,)), Query(WIDENED, ("x",)), Query(ONE, (2,)))
    assert statements.fetch_first(*queries) == [[(2,)], [("x",)], [(3,)]]
    before = backend_pid()
    widen()
    assert statements.fetch_first(*queries) == [[(2,)], [("x",)], [(3,)]]
    assert statements.fetch_one(WIDENED, ("x",)) == ("x",)
    assert backend_pid() == before


@pytest.mark.parametrize("place", ["first", "later", "with commit"])
def test_a_write_with_a_stale_plan_is_retried(widen: Callable[[], object], partner: Partner, place: str) -> None:
    stale: Query[Any] = Query("UPDATE widened SET value = %s RETURNING value", ("y",))
    attempts: list[int] = []

    def write() -> str:
        with transaction.atomic():
            attempts.append(1)
            if place == "first":
                statements.queue(stale)
            statements.run(RENAME, ("written", partner.pk))
            if place == "later":
                statements.fetch(stale)
            if place == "with commit":
                statements.queue(stale)
        return "done"

    assert write() == "done"
    widen()
    attempts.clear()
    Partner.objects.filter(pk=partner.pk).update(name="before")
    view: Any = PartnerAPIView()
    view.request, view.kwargs = None, {}
    assert view.handle(lambda _: write()) == "done"
    assert len(attempts) == 2
    assert name(partner) == "written"


def test_an_unsupported_statement_is_an_error(partner: Partner) -> None:
    """Unsupported statements have the SQLSTATE of stale plans."""
    with pytest.raises(NotSupportedError):
        statements.fetch_one("SELECT %s::int FROM partners_partner p FULL JOIN partners_apikey k ON p.id < k.id", (1,))


# --- The circuit breaker ---


@pytest.fixture
def unreachable(partner: Partner, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Refuse connections until the list is emptied; it has the time of each attempt."""
    connect, tried = BoundedConnection.connect, [0.0]

    def refuse(**options: Any) -> Any:
        if not tried:
            return connect(**options)
        tried.append(time.monotonic())
        raise psycopg.OperationalError("connection refused")

    monkeypatch.setattr(BoundedConnection, "connect", refuse)
    yield tried
    tried.clear()


def query() -> object:
    return statements.fetch_first(Query(ONE, (1,)))


def query_fails() -> None:
    with pytest.raises(OperationalError):
        query()


def after_pause() -> None:
    """Advance the circuit's clock."""
    NOW[0] += base.PAUSE_SECONDS


def test_after_a_failed_attempt_no_connection_is_tried_during_the_pause(unreachable: list[float]) -> None:
    connection.close()
    for _ in range(3):
        query_fails()
    assert len(unreachable) == 2
    after_pause()
    query_fails()
    assert len(unreachable) == 3


def test_the_database_is_used_again_after_the_pause(unreachable: list[float]) -> None:
    connection.close()
    query_fails()
    unreachable.clear()
    after_pause()
    # The first is the probe; the circuit is closed for the second.
    assert query()
    assert query()
    assert unreachable == []


def test_a_probe_on_a_connection_that_was_lost_meanwhile_connects_and_closes_the_circuit(
    unreachable: list[float], own_circuit: CircuitBreaker
) -> None:
    """As on a thread without requests during the outage."""
    lose_connection_and_open_circuit(own_circuit)
    unreachable.clear()
    after_pause()
    assert query()
    assert own_circuit.attempt() == own_circuit.successes


def lose_connection_and_open_circuit(own_circuit: CircuitBreaker) -> None:
    query()
    cut()
    own_circuit.failed(own_circuit.successes)


def test_a_probe_with_an_error_of_the_database_closes_the_circuit(
    partner: Partner, own_circuit: CircuitBreaker
) -> None:
    query()
    own_circuit.failed(own_circuit.successes)
    after_pause()
    with pytest.raises(DataError):
        statements.fetch_first(Query(FAIL, (0,)))
    query()


def test_a_failure_older_than_the_last_success_does_not_open_the_circuit() -> None:
    breaker = base._new_circuit()
    begun = breaker.attempt()
    assert begun is not None
    breaker.succeeded()
    breaker.failed(begun)
    # Not the probe of an open circuit, which would be refused the second time.
    assert [breaker.attempt(), breaker.attempt()] == [1, 1]


def test_one_request_at_a_time_probes() -> None:
    breaker = base._new_circuit()
    breaker.failed(breaker.successes)
    after_pause()
    assert [breaker.attempt(), breaker.attempt()] == [0, None]


def test_a_connection_older_than_a_failure_is_replaced_as_its_server_may_be_frozen(
    partner: Partner, own_circuit: CircuitBreaker
) -> None:
    query()
    before = backend_pid()
    own_circuit.failed(own_circuit.successes)
    after_pause()
    query()
    after = backend_pid()
    assert after != before
    query()
    assert backend_pid() == after


def test_a_session_that_has_become_a_standbys_is_dropped_at_its_first_write(partner: Partner) -> None:
    before = backend_pid()
    statements.run("SET default_transaction_read_only = on", ())
    with pytest.raises(InternalError) as refused:
        statements.run(RENAME, ("after", partner.pk))
    assert errors.sqlstate(refused.value) == "25006"
    close_old_connections()
    assert backend_pid() != before
    assert name(partner) == "before"


def test_a_port_that_refuses_connections_opens_the_circuit(partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = unused.getsockname()
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "HOST", address[0])
    monkeypatch.setitem(connection.settings_dict, "PORT", str(address[1]))
    query_fails()
    with pytest.raises(OperationalError, match="cannot be reached"):
        query()


def test_locks_show_what_was_committed_meanwhile_whatever_the_database_defaults_to(partner: Partner) -> None:
    name = connection.settings_dict["NAME"]
    with psycopg.connect(database_url(serving_role.OWNER), autocommit=True) as owner:
        owner.execute(f'ALTER DATABASE "{name}" SET default_transaction_isolation = "repeatable read"')
        try:
            connection.close()
            assert statements.fetch_one("SHOW transaction_isolation", ()) == ("read committed",)
        finally:
            owner.execute(f'ALTER DATABASE "{name}" RESET default_transaction_isolation')


def test_a_probe_asks_for_the_primary_as_its_own_session_is_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    options = connections["default"].settings_dict["OPTIONS"]
    monkeypatch.setitem(options, "target_session_attrs", "read-write")
    with health.connect() as session:
        shown = session.execute("SHOW default_transaction_read_only").fetchone()
        assert (shown, session.info.get_parameters()["target_session_attrs"]) == (("on",), "primary")
