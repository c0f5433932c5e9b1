"""Restarts and stops under load lose no request. Clients keep connections and retry nothing."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from django.conf import settings

from config.serve import STOPPING_SECONDS
from partners.models import Partner
from tests import factories
from tests.live.conftest import Server, blocked_by, free_port, production, serving
from tests.resilience.load import KeptConnection, load
from tests.support.client import PartnerClient
from tests.support.timeouts import WAIT_SECONDS
from tests.support.watched import starting, wait_until, watched
from users.models import User

# LIVE_REQUESTS=20000 for the long run.
REQUESTS = int(os.environ.get("LIVE_REQUESTS", "1000"))
CLIENTS = 8
STOPS = 5


WAITING = """
    SELECT count(*) FROM pg_stat_activity
     WHERE application_name = 'partner-service' AND datname = current_database() AND wait_event_type = 'Lock'
"""

Session = Callable[[], psycopg.Connection[Any]]


@pytest.fixture
def server(django_db_setup: None) -> Iterator[Server]:
    with serving(WEB_WORKERS="2") as running:
        yield running


@pytest.fixture
def api(partner: Partner, server: Server) -> PartnerClient:
    return factories.client_of(partner, server.transport)


def mixed(number: int) -> tuple[str, str, object]:
    """Return a read for half of the clients, a write for the others."""
    return ("GET", "/v1/ping", None) if number % 2 else ("POST", "/v1/users", factories.user_body())


def workers(server: Server) -> set[int]:
    return {child.pid for child in psutil.Process(server.process.pid).children()}


def serving_workers(server: Server) -> set[int]:
    """Return the workers that have loaded the service: they have threads."""
    with suppress(psutil.NoSuchProcess):
        return {worker for worker in workers(server) if psutil.Process(worker).num_threads() > 3}
    return set()


def restart_workers(server: Server) -> None:
    """Replace all workers, and wait."""
    before = workers(server)
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(workers(server)) == len(before) and not workers(server) & before)


def test_persistent_connections_are_spread_over_the_workers(api: PartnerClient, server: Server) -> None:
    # The second may still load, and then does not listen.
    wait_until(lambda: len(serving_workers(server)) == 2)
    kept = [KeptConnection(server.port) for _ in range(60)]
    for connection in kept:
        assert replace(api, transport=connection).get("/v1/ping").status == 200
    held = [
        sum(one.status == psutil.CONN_ESTABLISHED for one in psutil.Process(worker).net_connections("tcp"))
        for worker in workers(server)
    ]
    for connection in kept:
        connection.close()
    # By chance alone a worker has fewer than ten of sixty once in twenty million times.
    assert len(held) == 2
    assert min(held) >= 10


def test_workers_are_replaced_under_load_without_a_failed_request(
    api: PartnerClient, partner: Partner, server: Server
) -> None:
    restarts = 0
    with load(api, server.port, mixed) as tally:
        while tally.answered < REQUESTS or not restarts:
            restart_workers(server)
            restarts += 1
    print(f"{dict(tally.statuses)}, workers replaced {restarts} times, slowest {tally.slowest:.2f} s")  # noqa: T201 - figures of a long run, shown with -s
    assert (tally.failures, set(tally.statuses)) == ([], {200, 201})
    assert User.objects.filter(partner=partner).count() == len(tally.created)


def test_new_connections_are_accepted_during_a_reload(api: PartnerClient, server: Server) -> None:
    with load(api, server.port, mixed, keep=False) as tally:
        restart_workers(server)
    assert (tally.failures, set(tally.statuses)) == ([], {200, 201})


def test_a_running_request_gets_its_response_when_the_service_stops(
    api: PartnerClient, server: Server, session: Session
) -> None:
    body = factories.user_body()
    api.post("/v1/users", body)
    blocker, observer = session(), session()
    blocker.execute("SELECT FROM users_user WHERE external_id = %s FOR UPDATE", [body["externalId"]])
    observer.autocommit = True
    silent = KeptConnection(server.port)
    assert PartnerClient(api.api_key, api.secret, silent).get("/v1/ping").status == 200

    def patch(number: int) -> tuple[int, str | None]:
        answer = api.patch(f"/v1/users/{body['externalId']}", {"city": f"Ottawa {number}"})
        return answer.status, answer.header("Connection")

    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(patch, number) for number in range(2)]
        wait_until(lambda: observer.execute(WAITING).fetchone() == (2,))
        server.process.terminate()
        wait_until(lambda: refuses(server))
        blocker.rollback()
        assert [answer.result() for answer in answers] == [(200, "close")] * 2
    # Who keeps a connection and says nothing does not hold it up, as a request under way would.
    assert server.process.wait(timeout=STOPPING_SECONDS * 0.8) == 0
    silent.close()


def refuses(server: Server) -> bool:
    try:
        socket.create_connection(("127.0.0.1", server.port)).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_connection_is_answered_or_refused_when_the_service_stops(django_db_setup: None) -> None:
    answered: list[str] = []
    for _ in range(STOPS):
        with serving(WEB_WORKERS="2") as server, ThreadPoolExecutor(CLIENTS) as pool:
            before = len(answered)
            clients = [pool.submit(ask_until_refused, server.port, answered) for _ in range(CLIENTS)]
            wait_until(lambda before=before: len(answered) > before + 10 * CLIENTS)  # type: ignore[misc]
            server.process.terminate()
            for client in clients:
                client.result()
    others = [answer for answer in answered if answer != "HTTP/1.1 401 Unauthorized"]
    # One that arrives in the moment between the look for waiting connections and the end is reset
    # (tests/config/server/test_draining.py). Without the look it is more than one at each stop.
    assert len(others) <= STOPS, others


def ask_until_refused(port: int, answered: list[str]) -> None:
    """Send requests, over a connection for each, until none can be opened; append the first line of each response."""
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as connection:
                connection.sendall(b"GET /v1/ping HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                answered.append(connection.makefile(newline="\r\n").readline().rstrip())
        except ConnectionRefusedError:
            return
        except ConnectionError as error:
            answered.append(repr(error))


def test_killed_workers_are_replaced_repeatedly(api: PartnerClient, server: Server) -> None:
    for _ in range(3):
        wait_until(lambda: len(serving_workers(server)) == 2)
        killed = serving_workers(server)
        for worker in killed:
            psutil.Process(worker).kill()
        wait_until(lambda killed=killed: serving_workers(server) - killed)  # type: ignore[misc]
        assert {api.get("/v1/ping").status for _ in range(5)} == {200}
    assert server.process.poll() is None


def test_a_worker_killed_while_it_loads_is_replaced(api: PartnerClient, server: Server) -> None:
    wait_until(lambda: len(serving_workers(server)) == 2)
    (first, other) = workers(server)
    psutil.Process(first).kill()
    wait_until(lambda: workers(server) - {first, other})
    (successor,) = workers(server) - {first, other}
    psutil.Process(successor).kill()
    psutil.Process(other).kill()
    wait_until(lambda: len(serving_workers(server) - {first, other, successor}) == 2)
    assert api.get("/v1/ping").status == 200


def test_no_connection_waits_for_a_dead_worker(partner: Partner, settings_file: Path) -> None:
    environment = {"DJANGO_SETTINGS_MODULE": "changing_settings", "PYTHONPATH": str(settings_file.parent)}
    with serving(**environment, PYTHONDONTWRITEBYTECODE="1", WEB_WORKERS="2") as server:
        api = factories.client_of(partner, server.transport)
        wait_until(lambda: len(serving_workers(server)) == 2)
        # As on a machine that is too busy to load the successor.
        settings_file.write_text(LOADS_SLOWLY)
        psutil.Process(workers(server).pop()).kill()
        wait_until(settings_file.with_name("loading").exists)
        try:
            assert {api.get("/v1/ping").status for _ in range(30)} == {200}
        finally:
            settings_file.with_name("may-load").touch()


LOADS_SLOWLY = """
import pathlib, time
from tests.server_settings import *
pathlib.Path(__file__).with_name("loading").touch()
while not pathlib.Path(__file__).with_name("may-load").exists():
    time.sleep(0.01)
"""


def test_no_connection_waits_for_a_worker_that_dies_while_another_drains(
    api: PartnerClient, server: Server, session: Session
) -> None:
    wait_until(lambda: len(serving_workers(server)) == 2)
    body = factories.user_body()
    api.post("/v1/users", body)
    blocker, observer = session(), session()
    blocker.execute("SELECT FROM users_user WHERE external_id = %s FOR UPDATE", [body["externalId"]])
    observer.autocommit = True
    before = workers(server)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(api.patch, f"/v1/users/{body['externalId']}", {"city": "Ottawa"})
        wait_until(lambda: blocked_by(blocker, observer))
        server.process.send_signal(signal.SIGHUP)
        # The reload now waits for the worker that has the request, with at least one new worker beside it.
        wait_until(lambda: serving_workers(server) - before)
        killed = serving_workers(server) - before
        for new in killed:
            psutil.Process(new).kill()
        # They are replaced although the reload has not ended.
        wait_until(lambda: serving_workers(server) - before - killed)
        assert not answer.done()
        assert {api.get("/v1/ping").status for _ in range(20)} == {200}
        blocker.rollback()
        assert answer.result().status == 200
    wait_until(lambda: len(serving_workers(server) - before - killed) == 2)


def test_a_failed_fork_is_retried(partner: Partner, tmp_path: Path, django_db_setup: None) -> None:
    (tmp_path / "sitecustomize.py").write_text(FORKS_THAT_FAIL)
    with watched(tmp_path / "log", PYTHONPATH=str(tmp_path), WEB_WORKERS="2") as service:
        wait_until(lambda: service.internal("/metrics").body.count(b"psi_workers 2.0") == 1)
        (tmp_path / "no-forks").touch()
        killed = service.children()["workers"][0]
        killed.kill()
        wait_until(lambda: "A worker cannot be started" in service.log.read_text())
        api = factories.client_of(partner, service.transport)
        assert {api.get("/v1/ping").status for _ in range(10)} == {200}
        (tmp_path / "no-forks").unlink()
        wait_until(lambda: service.internal("/metrics").body.count(b"psi_workers 2.0") == 1)


FORKS_THAT_FAIL = """
import os, pathlib
fork = os.fork
def failing():
    if (pathlib.Path(__file__).parent / "no-forks").exists():
        raise BlockingIOError(11, "Resource temporarily unavailable")
    return fork()
os.fork = failing
"""


@pytest.fixture
def settings_file(tmp_path: Path) -> Path:
    """A settings module that the test may rewrite."""
    file = tmp_path / "changing_settings.py"
    file.write_text("from tests.server_settings import *\n")
    return file


def test_a_reload_applies_new_settings_and_keeps_old_workers_if_they_are_bad(
    partner: Partner, settings_file: Path
) -> None:
    environment = {"DJANGO_SETTINGS_MODULE": "changing_settings", "PYTHONPATH": str(settings_file.parent)}
    with serving(**environment, PYTHONDONTWRITEBYTECODE="1") as server:
        api = factories.client_of(partner, server.transport)
        settings_file.write_text("from tests.server_settings import *\nPARTNER_RATE_LIMIT = '77/minute'\n")
        restart_workers(server)
        assert api.get("/v1/ping").header("RateLimit-Policy") == '"default";q=77;w=60'
        before = workers(server)
        settings_file.write_text(DOES_NOT_START)
        server.process.send_signal(signal.SIGHUP)
        wait_until(settings_file.with_name("tried").exists)
        wait_until(lambda: workers(server) == before)
        time.sleep(0.2)
        assert (api.get("/v1/ping").status, workers(server)) == (200, before)


DOES_NOT_START = """
import pathlib
pathlib.Path(__file__).with_name("tried").touch()
raise RuntimeError("a version that does not start")
"""


def test_one_worker_that_cannot_load_does_not_end_the_service(
    partner: Partner, tmp_path: Path, settings_file: Path
) -> None:
    marker = tmp_path / "refuse-once"
    environment = {"DJANGO_SETTINGS_MODULE": "changing_settings", "PYTHONPATH": str(tmp_path), "WEB_WORKERS": "2"}
    with watched(tmp_path / "log", **environment) as service:
        wait_until(lambda: b"psi_workers 2.0" in service.internal("/metrics").body)
        second = service.children()["workers"][1]
        settings_file.write_text(REFUSING_ONCE.format(marker=str(marker)))
        # Until its successor has to wait for some seconds.
        while "is replaced in 4 s" not in service.log.read_text():
            for worker in service.children()["workers"]:
                with suppress(psutil.NoSuchProcess):
                    if worker.pid != second.pid:
                        worker.kill()
        marker.touch()
        second.kill()
        wait_until(lambda: not marker.exists())
        wait_until(lambda: b"psi_workers 2.0" in service.internal("/metrics").body)
        assert factories.client_of(partner, service.transport).get("/v1/ping").status == 200


REFUSING_ONCE = """
import pathlib
from tests.server_settings import *
if pathlib.Path({marker!r}).exists():
    pathlib.Path({marker!r}).unlink()
    raise RuntimeError("once")
"""


def test_the_service_is_ready_only_when_its_port_accepts_connections(tmp_path: Path, partner: Partner) -> None:
    (tmp_path / "slow_to_load.py").write_text(SLOW_TO_LOAD)
    (tmp_path / "changing_settings.py").write_text(
        "from tests.server_settings import *\nMIDDLEWARE = [*MIDDLEWARE, 'slow_to_load.Middleware']\n"
    )
    environment = {"DJANGO_SETTINGS_MODULE": "changing_settings", "PYTHONPATH": str(tmp_path)}
    with starting(tmp_path / "log", **environment) as service:
        wait_until(lambda: (tmp_path / "loading").exists() and service.health("/readyz")[0] == 503)
        assert service.health("/livez")[0] == 503
        (tmp_path / "may-load").touch()
        wait_until(lambda: service.health("/readyz")[0] == 200)
        assert factories.client_of(partner, service.transport).get("/v1/ping").status == 200


SLOW_TO_LOAD = """
import pathlib, time

class Middleware:
    def __init__(self, get_response):
        self.get_response = get_response
        here = pathlib.Path(__file__).parent
        (here / "loading").touch()
        while not (here / "may-load").exists():
            time.sleep(0.01)

    def __call__(self, request):
        return self.get_response(request)
"""


def test_a_service_that_cannot_be_loaded_exits_with_a_message(settings_file: Path) -> None:
    settings_file.write_text("from tests.server_settings import *\nMIDDLEWARE = ['nothing.of.the.kind']\n")
    environment = {"DJANGO_SETTINGS_MODULE": "changing_settings", "PYTHONPATH": str(settings_file.parent)}
    ended = subprocess.run(
        [sys.executable, "-m", "config.serve"],
        env=os.environ | production(**environment) | {"PORT": str(free_port())},
        cwd=Path(settings.BASE_DIR),
        timeout=WAIT_SECONDS,
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (1, "The service cannot be loaded.")
