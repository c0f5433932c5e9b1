"""The database server is killed under load: every error of libpq is a 503."""

import os
import signal
import time
import uuid
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
import psycopg

from config.database.base import PAUSE_SECONDS
from tests import factories
from tests.resilience.cluster import Cluster, own_cluster
from tests.resilience.load import Tally, load
from tests.support.client import PartnerClient
from tests.support.watched import wait_until, watched

# LIVE_KILLS=30 for the long run.
KILLS = int(os.environ.get("LIVE_KILLS", "3"))


def kill_server(cluster: Cluster) -> None:
    """Kill every process of the server at once."""
    with psycopg.connect(cluster.url) as connection:
        server = psutil.Process(psutil.Process(connection.info.backend_pid).ppid())
    processes = [server, *server.children()]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGKILL)
    psutil.wait_procs(processes, timeout=30)


def mixed(number: int) -> tuple[str, str, object]:
    """Return a read, create or update; each client has its own user."""
    kind = (time.monotonic_ns() // 1000 + number) % 3
    if kind == 0:
        return "GET", f"/v1/users/user-of-{number}/transactions", None
    if kind == 1:
        return "POST", "/v1/users", factories.user_body(externalId=f"killed-{uuid.uuid4()}")
    return "PATCH", f"/v1/users/user-of-{number}", {"city": f"City {uuid.uuid4()}"}


def has_created(tally: Tally, count: int) -> bool:
    """Whether this many users were created."""
    return tally.statuses[201] >= count


def test_a_database_killed_under_load_causes_only_503(tmp_path: Path) -> None:
    with own_cluster() as cluster, watched(tmp_path / "log", DATABASE_URL=cluster.url) as service:
        api: PartnerClient = cluster.client(service.transport)
        for number in range(8):
            assert api.post("/v1/users", factories.user_body(externalId=f"user-of-{number}")).status == 201
        with load(api, service.port, mixed, pause=0.01) as tally:
            for _ in range(KILLS):
                wait_until(partial(has_created, tally, tally.statuses[201] + 20))
                kill_server(cluster)
                cluster.start()
                time.sleep(2 * PAUSE_SECONDS)
        failed = [line for line in service.lines() if line["event"].startswith("request failed")]
    print(dict(tally.statuses))  # noqa: T201 - figures of a long run, shown with -s
    assert [line for line in failed if line["status"] != 503] == []
    assert set(tally.statuses) == {200, 201, 503}
