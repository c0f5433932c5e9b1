"""Each part fails under load: nothing is lost, nothing is doubled, and every request has a response in time."""

import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg
import pytest

from config.serve import THREADS
from tests import factories
from tests.resilience.changes import Changes, Reader
from tests.resilience.cluster import own_cluster
from tests.resilience.load import Tally, assert_each_write_happened_once, load, to_port
from tests.resilience.machine import Machine
from tests.slow.live.conftest import serving
from tests.support import drift
from tests.support.client import PartnerClient
from tests.support.receiver import Authority
from tests.support.watched import ANSWER_SECONDS, once_prompt, wait_until
from tests.support.writers import add_users

# RESILIENCE_ROUNDS=10 for the long run.
ROUNDS = int(os.environ.get("RESILIENCE_ROUNDS", "1"))
# While a part is away: enough that each client has met it.
REQUESTS, EVENTS = 24, 3
# On a busy machine an attempt may take longer than it may: the next ones follow after 5 s and 5 minutes.
RETRY_SECONDS = 900.0

# What responses may say meanwhile, besides success. None: there may be no response.
Allowed = set[int | None]
NOTHING: Allowed = set()
UNAVAILABLE: Allowed = {503}
FAULTS: dict[Callable[[Machine], AbstractContextManager[None]], Allowed] = {
    Machine.database_hangs: UNAVAILABLE,
    Machine.database_stops: UNAVAILABLE,
    Machine.database_is_killed: UNAVAILABLE,
    Machine.connections_are_lost: UNAVAILABLE,
    Machine.redis_stops: NOTHING,
    Machine.redis_hangs: NOTHING,
    Machine.service_is_killed: {None},
    Machine.deliverer_is_killed: NOTHING,
    Machine.deliverer_hangs: NOTHING,
    Machine.receiver_hangs: NOTHING,
}
EVENTS_GO_ON = {Machine.redis_stops, Machine.redis_hangs, Machine.deliverer_is_killed, Machine.deliverer_hangs}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    authority = Authority.create(tmp_path)
    with own_cluster() as cluster, authority.receiver() as receiver:
        machine = Machine(cluster, receiver, authority, tmp_path)
        try:
            yield machine
        finally:
            machine.stop()


@pytest.fixture
def staff(machine: Machine) -> int:
    machine.cluster.manage("create_staff", "rachel", "--email", "rachel@example.com", "--role", "reviewer")
    with psycopg.connect(machine.cluster.url) as connection:
        [(staff,)] = connection.execute("SELECT id FROM staff_staff WHERE username = 'rachel'").fetchall()
    return int(staff)


def test_nothing_is_lost_or_doubled_and_every_request_has_a_response_in_time(
    machine: Machine, staff: int, subtests: pytest.Subtests
) -> None:
    url = machine.cluster.url
    machine.api().post("/v1/users", factories.user_body(externalId="ada"))
    changes, reader = Changes(url, add_users(url, "acme", 10), staff), Reader(machine.api)
    with changes.running():
        for fault in [*FAULTS] * ROUNDS:
            with subtests.test(fault.__name__):
                once_prompt(lambda fault=fault: slowest_during(fault, machine, reader))  # type: ignore[misc]
    wait_until(lambda: not outbox(url) and reader.read())
    while not reader.read():
        pass
    committed, in_feed = changes.committed(), Counter(item["eventId"] for item in reader.items)
    assert Counter(changes.answered) <= committed
    assert reader.changes() == committed
    assert set(in_feed.values()) == {1}
    wait_until(lambda: in_feed.keys() <= set(machine.receiver.events()), seconds=RETRY_SECONDS)
    received = Counter(machine.receiver.events())
    print(f"{len(in_feed)} events, {received.total()} webhooks")  # noqa: T201 - figures, shown with -s
    assert received.keys() == in_feed.keys()
    for request in machine.receiver.requests:
        drift.check_event(request.body)


def slowest_during(
    fault: Callable[[Machine], AbstractContextManager[None]], machine: Machine, reader: Reader
) -> tuple[float, Tally]:
    """Assert what holds of a fault; return the seconds of the slowest request."""
    with load(machine.api(), to_port(machine.port), pause=0.01) as tally:
        wait_until(lambda: tally.responses >= REQUESTS)
        with fault(machine):
            before = tally.ended
            wait_until(lambda: tally.ended >= before + REQUESTS)
            if fault in EVENTS_GO_ON:
                reads = len(reader.items) + EVENTS
                wait_until(lambda: reader.has_read(reads))
        wait_until(lambda: recovered(tally))
    print(f"{fault.__name__}: {tally}")  # noqa: T201 - figures, shown with -s
    allowed = FAULTS[fault]
    assert not tally.malformed
    assert set(tally.statuses) <= {200, 201} | allowed
    assert None in allowed or not tally.failures
    assert_each_write_happened_once(machine.api(), tally, machine.cluster.url)
    return tally.slowest, tally


def recovered(tally: Tally) -> bool:
    """Whether the next 100 responses are successful."""
    ended, good = tally.ended, tally.statuses[200] + tally.statuses[201]
    wait_until(lambda: tally.ended >= ended + 100)
    return tally.statuses[200] + tally.statuses[201] - good >= tally.ended - ended


def outbox(url: str) -> bool:
    """Whether events are to be placed yet."""
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT FROM events_outboxentry").fetchone() is not None


@pytest.fixture
def silent_host() -> Iterator[str]:
    """An address that drops connection attempts."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        waiting = []
        for _ in range(4):  # more than the queue of those who wait to be accepted holds
            waiting.append(socket.socket())
            waiting[-1].settimeout(0)
            waiting[-1].connect_ex(address)
        yield f"postgresql://nobody@127.0.0.1:{address[1]}/psi"
        for one in waiting:
            one.close()


def test_a_database_host_that_drops_packets_causes_503_within_seconds(silent_host: str) -> None:
    with serving(DATABASE_URL=silent_host, DJANGO_SETTINGS_MODULE="config.settings") as server:
        api = PartnerClient("psi_key_" + "a" * 43, "s", server.transport)

        def slowest() -> tuple[float, Tally]:
            # More clients than threads: were each to wait for a connection, the last would be late.
            with load(api, to_port(server.port), clients=4 * THREADS, pause=0.05) as tally:
                time.sleep(2 * ANSWER_SECONDS)
            print(tally)  # noqa: T201 - figures, shown with -s
            assert (tally.failures, tally.malformed, set(tally.statuses)) == (Counter(), [], {503})
            return tally.slowest, tally

        tally = once_prompt(slowest)
    # Not all of them have waited.
    assert tally.responses > 100
