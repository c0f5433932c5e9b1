"""The database stops, or is killed, and starts under load: every error of libpq is a 503."""

import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator

import psycopg
import pytest

from config.serve import THREADS
from tests import factories
from tests.resilience.cluster import Cluster, own_cluster
from tests.resilience.load import Tally, load
from tests.slow.live.conftest import Server, serving
from tests.support.client import PartnerClient
from tests.support.watched import ANSWER_SECONDS, once_prompt, wait_until

# LIVE_AWAY_SECONDS=10 and LIVE_KILLS=30 for the long run.
AWAY_SECONDS = float(os.environ.get("LIVE_AWAY_SECONDS", "3"))
KILLS = int(os.environ.get("LIVE_KILLS", "1"))
# It is the sum of production's time-outs.
PRODUCTION = {"DJANGO_SETTINGS_MODULE": "config.settings"}
CREATED = "SELECT count(*) FROM users_user WHERE external_id = ANY(%s)"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with own_cluster() as running:
        yield running


@pytest.fixture
def server(cluster: Cluster) -> Iterator[Server]:
    with serving(DATABASE_URL=cluster.url, **PRODUCTION) as running:
        yield running


@pytest.fixture
def api(cluster: Cluster, server: Server) -> PartnerClient:
    return cluster.client(server.transport)


def mixed(number: int) -> tuple[str, str, object]:
    """Return a read, an update or a create, by the client's number."""
    requests: list[tuple[str, str, object]] = [
        ("POST", "/v1/users", factories.user_body()),
        ("GET", "/v1/ping", None),
        ("GET", "/v1/users/ada/transactions", None),
        ("PATCH", "/v1/users/ada", {"city": f"City {uuid.uuid4()}"}),
    ]
    return requests[number % 4]


def assert_kept(cluster: Cluster, tally: Tally) -> None:
    """Every user with a 201 is in the database."""
    with psycopg.connect(cluster.url) as connection:
        assert connection.execute(CREATED, [tally.created]).fetchone() == (len(tally.created),)


def all_is_well(tally: Tally) -> bool:
    """Whether the next 200 responses have no 503."""
    answered, refused = tally.answered, tally.statuses[503]
    wait_until(lambda: tally.answered >= answered + 200)
    return tally.statuses[503] == refused


def stop(cluster: Cluster) -> None:
    cluster.stop()
    time.sleep(AWAY_SECONDS)


@pytest.mark.parametrize("fault", [stop, *[Cluster.kill] * KILLS])
def test_a_database_that_ends_and_starts_under_load(
    cluster: Cluster, server: Server, api: PartnerClient, fault: Callable[[Cluster], None]
) -> None:
    api.post("/v1/users", factories.user_body(externalId="ada"))

    def slowest_of_an_outage() -> tuple[float, Tally]:
        with load(api, server.port, mixed, pause=0.01) as tally:
            wait_until(lambda: len(tally.created) >= 50)
            fault(cluster)
            cluster.start()
            wait_until(lambda: all_is_well(tally))
        print(f"{dict(tally.statuses)}, slowest {tally.slowest:.2f} s")  # noqa: T201 - figures of a long run, shown with -s
        assert (tally.failures, tally.malformed, set(tally.statuses)) == ([], [], {200, 201, 503})
        assert_kept(cluster, tally)
        return tally.slowest, tally

    once_prompt(slowest_of_an_outage)
    with load(api, server.port, mixed) as afterwards:
        wait_until(lambda: afterwards.answered >= 300)
    assert (afterwards.failures, set(afterwards.statuses)) == ([], {200, 201})


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


def test_a_database_host_that_drops_packets_causes_503_within_seconds(cluster: Cluster, silent_host: str) -> None:
    with serving(DATABASE_URL=silent_host, **PRODUCTION) as server:
        api = cluster.client(server.transport)

        def slowest() -> tuple[float, Tally]:
            # More clients than threads: were each to wait for a connection, the last would be late.
            with load(api, server.port, mixed, clients=4 * THREADS, pause=0.05) as tally:
                time.sleep(2 * ANSWER_SECONDS)
            print(f"{dict(tally.statuses)}, slowest {tally.slowest:.2f} s")  # noqa: T201 - figures of a long run, shown with -s
            assert (tally.failures, tally.malformed, set(tally.statuses)) == ([], [], {503})
            return tally.slowest, tally

        tally = once_prompt(slowest)
    # Not all of them have waited.
    assert tally.answered > 100
