"""Requests are recorded after their responses, by a thread that neither fails nor delays them."""

import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from partners.db import serving_role
from partners.models import Mode, Partner, SandboxRequest
from partners.recording import sent_requests
from partners.recording.writer import MAX_BATCH, MAX_QUEUED, BackgroundWriter
from tests import factories
from tests.support.client import PartnerClient, Response, in_process
from tests.support.locks import wait_for_sessions
from tests.support.timeouts import WAIT_SECONDS
from tests.support.watched import wait_until

Write = Callable[[list[Any]], None]


@pytest.fixture
def committed_sandbox(django_db_setup: None, django_db_blocker: Any) -> Iterator[Partner]:
    """A sandbox partner that the thread sees."""
    with django_db_blocker.unblock():
        yield factories.PartnerFactory.create(slug=f"recorded-{uuid.uuid4()}", mode=Mode.SANDBOX)
        connections.close_all()


@pytest.fixture
def recording(committed_sandbox: Partner) -> Iterator[PartnerClient]:
    """A client whose requests the thread records."""
    yield factories.client_of(committed_sandbox, in_process)
    sent_requests.writer.close()


@pytest.fixture
def writers() -> Iterator[Callable[[Write], BackgroundWriter]]:
    """Makes writers, and closes them."""
    made: list[BackgroundWriter] = []

    def make(write: Write) -> BackgroundWriter:
        made.append(BackgroundWriter(write))
        return made[-1]

    yield make
    for writer in made:
        writer.close()


def recorded(response: Response) -> bool:
    return SandboxRequest.objects.filter(request_id=response.header("X-Request-Id") or "").exists()


def test_a_request_is_recorded_soon(recording: PartnerClient) -> None:
    response = recording.get("/v1/ping")
    wait_until(lambda: recorded(response))
    found = recording.get(f"/v1/sandbox/requests/{response.header('X-Request-Id')}").json()
    # The time of arrival, not that of the row.
    assert found["createdAt"] <= response.json()["serverTime"]


def test_a_locked_table_delays_no_request(recording: PartnerClient) -> None:
    with transaction.atomic(using=serving_role.OWNER), connections[serving_role.OWNER].cursor() as owner:
        owner.execute("LOCK TABLE partners_sandboxrequest IN ACCESS EXCLUSIVE MODE")
        first = recording.get("/v1/ping")
        wait_for_sessions(1)
        others = [recording.get("/v1/ping") for _ in range(5)]
        refused = recording.get("/v1/ping", secret="another")
    assert {response.status for response in (first, *others)} == {200}
    assert refused.json()["diagnosis"]["cause"] == "unknown"
    wait_until(lambda: all(map(recorded, (first, *others, refused))))


def test_a_table_that_is_not_there_fails_no_request(recording: PartnerClient, caplog: pytest.LogCaptureFixture) -> None:
    with connections[serving_role.OWNER].cursor() as owner:
        owner.execute("ALTER TABLE partners_sandboxrequest RENAME TO elsewhere")
        try:
            assert recording.get("/v1/ping").status == 200
            wait_until(lambda: "requests could not be recorded" in caplog.text)
        finally:
            owner.execute("ALTER TABLE elsewhere RENAME TO partners_sandboxrequest")
    response = recording.get("/v1/ping")
    wait_until(lambda: recorded(response))


def test_a_connection_that_is_lost_is_replaced(recording: PartnerClient) -> None:
    first = recording.get("/v1/ping")
    wait_until(lambda: recorded(first))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()"
        )

    def is_recorded() -> bool:
        return recorded(recording.get("/v1/ping")) or SandboxRequest.objects.count() > 1

    wait_until(is_recorded)


def test_two_processes_keep_the_last_100(committed_sandbox: Partner) -> None:
    def rows(count: int) -> list[SandboxRequest]:
        return [
            SandboxRequest(
                partner=committed_sandbox,
                request_id=uuid.uuid4(),
                created_at=timezone.now(),
                method="GET",
                path="/v1/ping",
                status=200,
                field_errors=[],
                replayed=False,
                milliseconds=1,
            )
            for _ in range(count)
        ]

    def write(_number: int) -> None:
        try:
            for _ in range(20):
                sent_requests.write(rows(15))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, range(3)))
    # What another one has not committed yet is removed by the next.
    sent_requests.write(rows(1))
    assert SandboxRequest.objects.filter(partner=committed_sandbox).count() == 100


# The thread by itself


def test_rows_are_written_in_their_order_and_in_batches(writers: Callable[[Write], BackgroundWriter]) -> None:
    batches: list[list[int]] = []
    begun, released = threading.Event(), threading.Event()

    def write(batch: list[int]) -> None:
        batches.append(batch)
        begun.set()
        assert released.wait(WAIT_SECONDS)

    writer = writers(write)
    writer.submit(0)
    assert begun.wait(WAIT_SECONDS)
    for number in range(1, 2 * MAX_BATCH + 1):
        writer.submit(number)
    released.set()
    wait_until(lambda: sum(map(len, batches)) == 2 * MAX_BATCH + 1)
    assert [len(batch) for batch in batches] == [1, MAX_BATCH, MAX_BATCH]
    assert [row for batch in batches for row in batch] == list(range(2 * MAX_BATCH + 1))


def test_rows_that_do_not_fit_are_dropped_at_once(
    writers: Callable[[Write], BackgroundWriter], caplog: pytest.LogCaptureFixture
) -> None:
    written: list[int] = []
    begun, released = threading.Event(), threading.Event()

    def write(batch: list[int]) -> None:
        begun.set()
        assert released.wait(WAIT_SECONDS)
        written.extend(batch)

    writer = writers(write)
    writer.submit(0)
    assert begun.wait(WAIT_SECONDS)
    for number in range(1, MAX_QUEUED + 10):
        writer.submit(number)
    assert caplog.text.count("too many wait") == 9
    released.set()
    wait_until(lambda: written == list(range(MAX_QUEUED + 1)))


def test_a_batch_that_fails_is_lost_alone(
    writers: Callable[[Write], BackgroundWriter], caplog: pytest.LogCaptureFixture
) -> None:
    written: list[int] = []

    def write(batch: list[int]) -> None:
        if 0 in batch:
            raise ZeroDivisionError
        written.extend(batch)

    writer = writers(write)
    writer.submit(0)
    wait_until(lambda: "requests could not be recorded" in caplog.text)
    writer.submit(1)
    wait_until(lambda: written == [1])


def test_closing_writes_what_is_queued_and_a_row_starts_it_again(
    writers: Callable[[Write], BackgroundWriter], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("partners.recording.writer.CLOSING_SECONDS", WAIT_SECONDS)
    written: list[int] = []
    writer = writers(written.extend)
    for number in range(10):
        writer.submit(number)
    writer.close()
    assert written == list(range(10))
    writer.submit(10)
    wait_until(lambda: written == list(range(11)))


def test_an_idle_thread_gives_its_connection_back(recording: PartnerClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partners.recording.writer.IDLE_SECONDS", 0.01)
    response = recording.get("/v1/ping")
    wait_until(lambda: recorded(response))

    def others() -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND usename = current_user AND pid <> pg_backend_pid()"
            )
            return int(cursor.fetchone()[0])

    wait_until(lambda: others() == 0)
    later = recording.get("/v1/ping")
    wait_until(lambda: recorded(later))
