"""X-Sandbox-Fault: contract, section 11."""

import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.client import IncompleteRead
from threading import Event
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError, connection
from psycopg.errors import DeadlockDetected

from partners.models import Partner
from partners.monitoring import metrics
from sandbox import views
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.responses import assert_error, failing_fields
from tests.support.timeouts import WAIT_SECONDS
from users import requirements
from users.models import User

HEADER = "X-Sandbox-Fault"


def create(client: PartnerClient, fault: str, **options: str) -> Response:
    return client.post("/v1/users", factories.user_body(externalId="ada"), headers={HEADER: fault}, **options)


def test_a_refusal_does_nothing(sandbox: PartnerClient) -> None:
    for fault, status in {"tooManyRequests": 429, "internalError": 500, "unavailable": 503}.items():
        response = create(sandbox, fault)
        assert_error(response, status)
        assert (response.header("Retry-After") is not None) == (status in {429, 503}), fault
    assert not User.objects.exists()


def test_a_simulated_failure_is_not_counted_among_real_ones(
    sandbox: PartnerClient, api: PartnerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[bool] = []
    monkeypatch.setattr(metrics._seconds, "labels", lambda *_: Mock(observe=lambda _: counted.append(True)))
    monkeypatch.setattr(metrics, "_series", {})
    create(sandbox, "internalError")
    assert counted == []
    # The thread's next request is.
    create(api, "internalError")
    assert counted == [True]


def test_a_simulated_failure_is_one_line_in_the_log(sandbox: PartnerClient, caplog: pytest.LogCaptureFixture) -> None:
    create(sandbox, "internalError")
    with pytest.raises(IncompleteRead):
        create(sandbox, "lostAnswer")
    assert [(record.name, record.levelname) for record in caplog.records] == [("partners.request", "INFO")] * 2


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of each wait, which takes none."""
    waits: list[float] = []
    monkeypatch.setattr(views, "time", Mock(wraps=time, sleep=waits.append))
    return waits


def test_a_slow_request_is_done_and_waits_once(sandbox: PartnerClient, waits: list[float]) -> None:
    key = str(uuid.uuid4())
    once, again = (create(sandbox, "slow", key=key) for _ in range(2))
    assert (once.status, once.body, again.header("Idempotent-Replayed")) == (201, again.body, "true")
    assert waits == [5.0]


def test_a_slow_read_shows_what_there_is_after_the_wait(
    sandbox: PartnerClient, sandbox_partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its query comes with that for the key, which the process knows from a request before.
    assert sandbox.get("/v1/users").json()["items"] == []
    monkeypatch.setattr(views, "wait", lambda _: factories.UserFactory.create(partner=sandbox_partner))
    assert len(sandbox.get("/v1/users", headers={HEADER: "slow"}).json()["items"]) == 1


def test_a_lost_response_is_of_a_write_that_was_done(sandbox: PartnerClient) -> None:
    key = str(uuid.uuid4())
    with pytest.raises(IncompleteRead):
        create(sandbox, "lostAnswer", key=key)

    assert User.objects.get().external_id == "ada"
    assert sandbox.get(f"/v1/idempotency-keys/{key}").json()["status"] == 201
    again = sandbox.post("/v1/users", factories.user_body(externalId="ada"), key=key)
    assert (again.status, again.header("Idempotent-Replayed")) == (201, "true")


def test_an_error_is_lost_too(sandbox: PartnerClient) -> None:
    with pytest.raises(IncompleteRead):
        sandbox.get("/v1/users/nobody", headers={HEADER: "lostAnswer"})


def test_another_value_is_refused(sandbox: PartnerClient) -> None:
    for value in ("", "slower", "SLOW", "slow, slow"):
        assert failing_fields(create(sandbox, value)) == [HEADER], value
    assert not User.objects.exists()


def test_a_live_partner_s_header_is_ignored(api: PartnerClient) -> None:
    for value in (*views.Fault, "nonsense"):
        assert api.get("/v1/ping", headers={HEADER: value}).status == 200, value
    assert create(api, "internalError").status == 201


def test_the_answers_are_counted_against_the_rate_limit(
    sandbox: PartnerClient, fresh_counter: Callable[[], None]
) -> None:
    responses = [create(sandbox, "unavailable") for _ in range(2)]

    left = [str(response.header("RateLimit")).split(";")[1] for response in responses]
    assert left[0] != left[1]


# A slow write under an Idempotency-Key is under way while it waits: contract, section 12

USER = "/v1/users/ada"
CHANGE = {"city": "Ottawa"}


@pytest.fixture
def with_ada(committed_sandbox: PartnerClient) -> PartnerClient:
    """A client of a committed sandbox partner, which has the user ada."""
    committed_sandbox.post("/v1/users", factories.user_body(externalId="ada"))
    return committed_sandbox


def update_slowly(client: PartnerClient, key: str) -> Response:
    return client.patch(USER, CHANGE, key=key, headers={views.HEADER: "slow"})


@contextmanager
def slow_update(client: PartnerClient, key: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Future[Response]]:
    """A slow update that waits until the end of the block."""
    waiting, released = Event(), Event()

    def wait(_seconds: float) -> None:
        waiting.set()
        assert released.wait(WAIT_SECONDS)

    def update() -> Response:
        try:
            return update_slowly(client, key)
        finally:
            connection.close()

    monkeypatch.setattr(views, "time", Mock(wraps=time, sleep=wait))
    with ThreadPoolExecutor(1) as pool:
        write = pool.submit(update)
        try:
            assert waiting.wait(WAIT_SECONDS)
            yield write
        finally:
            released.set()


@pytest.fixture
def short_lock_timeout(with_ada: PartnerClient) -> Iterator[None]:
    """Waits of this thread's session for a lock end soon."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '100ms'")
        yield
        cursor.execute("RESET lock_timeout")


@pytest.mark.usefixtures("short_lock_timeout")
def test_a_look_up_waits_for_it_and_finds_it_afterwards(
    with_ada: PartnerClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key = str(uuid.uuid4())
    lookup = f"/v1/idempotency-keys/{key}"
    with slow_update(with_ada, key, monkeypatch) as write:
        meanwhile = with_ada.get(lookup)
        assert_error(meanwhile, 503)
        assert meanwhile.header("Retry-After") == "2"
        # A simulated wait is no alert.
        assert {record.levelname for record in caplog.records} == {"INFO"}
    assert write.result().status == 200
    assert with_ada.get(lookup).json()["status"] == 200


@pytest.mark.usefixtures("short_lock_timeout")
def test_its_user_can_be_updated_meanwhile(with_ada: PartnerClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with slow_update(with_ada, str(uuid.uuid4()), monkeypatch) as write:
        assert with_ada.patch(USER, {"city": "Toronto"}).status == 200
    assert write.result().status == 200


def test_after_a_deadlock_it_does_not_wait_again(
    with_ada: PartnerClient, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    deadlock = OperationalError()
    deadlock.__cause__ = DeadlockDetected()
    failures = [deadlock]
    original = requirements.update_user

    def update_user(**values: Any) -> Any:
        if failures:
            raise failures.pop()
        return original(**values)

    monkeypatch.setattr(requirements, "update_user", update_user)
    assert update_slowly(with_ada, str(uuid.uuid4())).status == 200
    assert (failures, waits) == ([], [views.SLOW_SECONDS])
