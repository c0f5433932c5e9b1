"""A slow write under an Idempotency-Key is under way while it waits: contract, sections 11 and 12."""

import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError, connection
from psycopg.errors import DeadlockDetected

from partners.models import Mode
from sandbox import faults
from tests import factories
from tests.support.client import PartnerClient, Response, in_process
from tests.support.responses import assert_error
from tests.support.timeouts import WAIT_SECONDS
from users import requirements

USER = "/v1/users/ada"
CHANGE = {"city": "Ottawa"}


@pytest.fixture
def committed_sandbox(django_db_setup: None, django_db_blocker: Any) -> Iterator[PartnerClient]:
    """A client of a committed sandbox partner, which has the user ada."""
    with django_db_blocker.unblock():
        client = factories.client_of(
            factories.PartnerFactory.create(slug=f"slow-{uuid.uuid4()}", mode=Mode.SANDBOX), in_process
        )
        client.post("/v1/users", factories.user_body(externalId="ada"))
        yield client


def update_slowly(client: PartnerClient, key: str) -> Response:
    return client.patch(USER, CHANGE, key=key, headers={faults.HEADER: "slow"})


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

    monkeypatch.setattr(faults, "time", Mock(sleep=wait))
    with ThreadPoolExecutor(1) as pool:
        write = pool.submit(update)
        try:
            assert waiting.wait(WAIT_SECONDS)
            yield write
        finally:
            released.set()


@pytest.fixture
def short_lock_timeout(committed_sandbox: PartnerClient) -> Iterator[None]:
    """Waits of this thread's session for a lock end soon."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '100ms'")
        yield
        cursor.execute("RESET lock_timeout")


@pytest.mark.usefixtures("short_lock_timeout")
def test_a_look_up_waits_for_it_and_finds_it_afterwards(
    committed_sandbox: PartnerClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key = str(uuid.uuid4())
    lookup = f"/v1/idempotency-keys/{key}"
    with slow_update(committed_sandbox, key, monkeypatch) as write:
        meanwhile = committed_sandbox.get(lookup)
        assert_error(meanwhile, 503)
        assert meanwhile.header("Retry-After") == "2"
        # A simulated wait is no alert.
        assert {record.levelname for record in caplog.records} == {"INFO"}
    assert write.result().status == 200
    assert committed_sandbox.get(lookup).json()["status"] == 200


@pytest.mark.usefixtures("short_lock_timeout")
def test_its_user_can_be_updated_meanwhile(committed_sandbox: PartnerClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with slow_update(committed_sandbox, str(uuid.uuid4()), monkeypatch) as write:
        assert committed_sandbox.patch(USER, {"city": "Toronto"}).status == 200
    assert write.result().status == 200


def test_after_a_deadlock_it_does_not_wait_again(
    committed_sandbox: PartnerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(faults, "time", Mock(sleep=waits.append))
    deadlock = OperationalError()
    deadlock.__cause__ = DeadlockDetected()
    failures = [deadlock]
    original = requirements.update_user

    def update_user(**values: Any) -> Any:
        if failures:
            raise failures.pop()
        return original(**values)

    monkeypatch.setattr(requirements, "update_user", update_user)
    assert update_slowly(committed_sandbox, str(uuid.uuid4())).status == 200
    assert (failures, waits) == ([], [faults.SLOW_SECONDS])
