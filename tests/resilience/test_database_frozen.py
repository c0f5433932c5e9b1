"""The database hangs: its processes are stopped (SIGSTOP)."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests import factories
from tests.resilience.cluster import Cluster, own_cluster
from tests.support.client import PartnerClient, Response
from tests.support.responses import assert_error
from tests.support.watched import Watched, wait_until, watched


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with own_cluster() as running:
        yield running


@pytest.fixture
def service(cluster: Cluster, tmp_path: Path) -> Iterator[Watched]:
    # As in production: its time-outs are the subject.
    with watched(tmp_path / "log", DATABASE_URL=cluster.url, DJANGO_SETTINGS_MODULE="config.settings") as running:
        yield running


@contextmanager
def frozen(cluster: Cluster) -> Iterator[None]:
    """Stop all of the server's processes during the block."""
    server = psutil.Process(cluster.server_process())
    processes = [server, *server.children(recursive=True)]
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


def test_every_request_has_a_response_while_the_database_hangs(cluster: Cluster, service: Watched) -> None:
    api = cluster.client(service.transport)
    body = factories.user_body()
    path = f"/v1/users/{body['externalId']}"
    assert api.post("/v1/users", body).status == 201
    requests: list[Callable[[PartnerClient], Response]] = [
        lambda client: client.get("/v1/ping"),
        lambda client: client.get(path),
        lambda client: client.get(f"{path}/transactions"),
        lambda client: client.post("/v1/users", factories.user_body()),
        lambda client: client.patch(path, {"city": "Ottawa"}),
        lambda client: client.patch(path, {"city": "Hull"}, key="6a9208ab-7eb4-461d-8c93-9891b3a70b94"),
    ]
    # Each thread of the worker has a connection, with its statements prepared.
    with ThreadPoolExecutor(4) as pool:
        for request in requests * 2:
            assert {response.status for response in pool.map(request, [api] * 4)} <= {200, 201}
    with frozen(cluster), ThreadPoolExecutor(len(requests)) as pool:
        # More of them than there are threads. The block ends when all have a response.
        responses = list(pool.map(lambda request: request(api), requests))
        for response in responses:
            assert_error(response, 503)
            assert response.header("Retry-After")
        assert service.health()[0] == 503
        assert service.monitored("/livez").status == 200
    wait_until(lambda: api.get("/v1/ping").status == 200)
    # Nothing of what was refused has happened.
    assert api.patch(path, {}).status == 200
