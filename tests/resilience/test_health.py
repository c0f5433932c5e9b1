"""Health on the internal port: it names problems in time, whatever hangs."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from django.conf import settings
from django.db import connections

from config.serve import THREADS
from partners.db import serving_role
from tests.conftest import database_url
from tests.live.conftest import free_port, production
from tests.support.prompt import promptly
from tests.support.redis_process import own_redis
from tests.support.timeouts import WAIT_SECONDS
from tests.support.watched import Relay, Watched, wait_until, watched

HEALTHY = {"workers": "ok", "database": "ok", "migrations": "ok"}
TIMEOUT = "does not answer within 1.5 seconds"
UNREACHABLE = "cannot be reached"


@pytest.fixture(scope="module")
def relay(django_db_setup: None) -> Iterator[Relay]:
    """A relay to the test database."""
    relay = Relay(f"{connections[serving_role.SERVING].settings_dict['HOST']}/.s.PGSQL.5432")
    relay.begin()
    yield relay
    relay.cut()


@pytest.fixture(scope="module")
def service(relay: Relay, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    given = connections[serving_role.SERVING].settings_dict
    url = f"postgresql://{given['USER']}@127.0.0.1:{relay.port}/{given['NAME']}"
    with watched(tmp_path_factory.mktemp("log") / "log", DATABASE_URL=url, WEB_WORKERS="2") as service:
        # The first serves while the other still loads.
        wait_until(lambda: both_serve(service))
        yield service


def both_serve(service: Watched) -> bool:
    return b"psi_workers 2.0" in service.internal("/metrics").body


def test_a_healthy_service_has_status_ok(service: Watched) -> None:
    # On a busy machine even this database may once take longer than a probe waits for it.
    wait_until(lambda: service.health("/readyz") == (200, HEALTHY))
    assert service.health("/livez") == (200, {"workers": "ok"})
    answer = service.internal("/readyz")
    assert (answer.header("Content-Type"), answer.json()["status"]) == ("application/json", "ok")
    assert answer.header("Cache-Control") == "no-store"
    assert service.internal("/v1/ping").status == 404


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics", "/v1/metrics"])
def test_the_public_port_has_none_of_the_internal_paths(service: Watched, path: str) -> None:
    assert service.transport("GET", path, {"X-Forwarded-Proto": "https"}, b"").status == 404


def test_an_unreachable_database_is_reported_until_it_is_back(service: Watched, relay: Relay) -> None:
    relay.cut()
    assert promptly(lambda: service.health("/readyz"))[0] == 503
    # Of migrations nothing is known then.
    wait_until(lambda: service.health("/readyz") == (503, {"workers": "ok", "database": UNREACHABLE}))
    assert service.health("/livez")[0] == 200
    assert b"psi_database_up 0.0" in service.internal("/metrics").body
    relay.begin()
    wait_until(lambda: service.health("/readyz") == (200, HEALTHY))
    wait_until(lambda: b"psi_database_up 1.0" in service.internal("/metrics").body)


def test_a_database_that_hangs_is_reported_in_time(service: Watched, relay: Relay) -> None:
    relay.hangs.set()
    try:
        for _ in range(3):
            health = promptly(lambda: service.health("/readyz"))
            assert health == (503, {"workers": "ok", "database": TIMEOUT})
        assert b"psi_database_up 0.0" in promptly(lambda: service.internal("/metrics").body)
        assert service.health("/livez")[0] == 200
        internal = service.children()["internal"][0]
        threads = internal.num_threads()
        for _ in range(5):
            service.health("/readyz")
        # The hung probes hold their threads, however many requests wait for them; granian may have started one more.
        assert internal.num_threads() <= threads + 2
    finally:
        relay.hangs.clear()
    wait_until(lambda: service.health("/readyz") == (200, HEALTHY))


def test_health_responds_while_all_threads_of_the_workers_are_busy(service: Watched) -> None:
    slow = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(4 * THREADS)]
    for one in slow:
        one.sendall(b"POST /v1/users HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n")
    # As many of each worker's threads as there may be have begun to read.
    workers = service.children()["workers"]
    wait_until(lambda: min(worker.num_threads() for worker in workers) >= THREADS)
    assert promptly(lambda: service.health("/livez"))[0] == 200
    wait_until(lambda: service.health("/readyz") == (200, HEALTHY))
    for one in slow:
        one.close()


def test_the_internal_process_is_replaced_when_it_dies(service: Watched) -> None:
    (internal,) = service.children()["internal"]
    internal.kill()
    wait_until(lambda: not internal.is_running() and service.health("/readyz") == (200, HEALTHY))


def test_a_reload_replaces_the_internal_process_too(service: Watched) -> None:
    before = {child.pid for children in service.children().values() for child in children}
    service.process.send_signal(signal.SIGHUP)
    wait_until(lambda: not before & set(psutil.pids()) and service.health("/readyz") == (200, HEALTHY))
    wait_until(lambda: both_serve(service))


def test_a_service_whose_master_is_killed_is_not_healthy(tmp_path: Path, django_db_setup: None) -> None:
    with watched(tmp_path / "log") as service:
        children, folder = service.children(), service.folder()
        service.process.kill()
        psutil.wait_procs(children["internal"], timeout=WAIT_SECONDS)
        assert not [child for child in children["internal"] if child.is_running()]
        assert not folder.exists()
        # And leaves its port to a successor.
        psutil.wait_procs(children["workers"], timeout=WAIT_SECONDS)
        assert not [worker for worker in children["workers"] if worker.is_running()]


@pytest.fixture
def scratch(django_db_setup: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[str]:
    """A database that the serving role may read."""
    owner, serving = connections[serving_role.OWNER].settings_dict, connections[serving_role.SERVING].settings_dict
    name = f"{serving['NAME']}_migrations"
    with psycopg.connect(database_url(serving_role.OWNER), autocommit=True) as session:
        session.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        session.execute(f"CREATE DATABASE {name}")
    yield database_url(serving_role.OWNER).replace(f"/{owner['NAME']}?", f"/{name}?")
    with psycopg.connect(database_url(serving_role.OWNER), autocommit=True) as session:
        session.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_an_unapplied_migration_is_reported(scratch: str, tmp_path: Path) -> None:
    serving = connections[serving_role.SERVING].settings_dict
    url = scratch.replace(f"//{connections[serving_role.OWNER].settings_dict['USER']}@", f"//{serving['USER']}@")
    with watched(tmp_path / "log", DATABASE_URL=url) as service:
        # Not even the table is there.
        wait_until(
            lambda: service.health("/readyz")[1].get("migrations", "").startswith("not applied: account.0001_initial, ")
        )
        assert service.health("/readyz")[0] == 503
        with psycopg.connect(database_url(serving_role.SERVING)) as session:
            applied = session.execute("SELECT app, name FROM django_migrations").fetchall()
        with psycopg.connect(scratch) as session:
            session.execute("CREATE TABLE django_migrations (app text, name text)")
            session.execute(f"GRANT SELECT ON django_migrations TO {serving['USER']}")
            rows = [row for row in applied if row != ("users", "0001_initial")]
            session.cursor().executemany("INSERT INTO django_migrations VALUES (%s, %s)", rows)
        wait_until(
            lambda: service.health("/readyz") == (503, HEALTHY | {"migrations": "not applied: users.0001_initial"})
        )
        assert service.health("/livez")[0] == 200
        with psycopg.connect(scratch) as session:
            # And one of a later version, which this one need not know.
            session.execute("INSERT INTO django_migrations VALUES ('users', '0001_initial'), ('users', '9999_later')")
        wait_until(lambda: service.health("/readyz") == (200, HEALTHY))


def test_an_unreachable_redis_is_reported(tmp_path: Path, django_db_setup: None) -> None:
    port = free_port()
    with watched(tmp_path / "log", REDIS_URL=f"redis://127.0.0.1:{port}/0") as service:
        with own_redis(port, tmp_path):
            wait_until(lambda: service.health("/readyz") == (200, HEALTHY | {"redis": "ok"}))
        assert promptly(lambda: service.health("/readyz"))[0] == 503
        wait_until(lambda: service.health("/readyz") == (503, HEALTHY | {"redis": UNREACHABLE}))
        assert service.health("/livez")[0] == 200


@pytest.mark.parametrize("name", ["PORT", "INTERNAL_PORT"])
@pytest.mark.parametrize("reuse_port", [False, True], ids=["another program", "another service"])
def test_a_port_in_use_stops_the_start_with_one_line(name: str, *, reuse_port: bool, django_db_setup: None) -> None:
    with socket.create_server(("127.0.0.1", 0), reuse_port=reuse_port) as taken:
        ports = {"PORT": str(free_port()), "INTERNAL_PORT": "0"} | {name: str(taken.getsockname()[1])}
        ended = subprocess.run(
            [sys.executable, "-m", "config.serve"],
            env=os.environ | production() | ports,
            cwd=settings.BASE_DIR,
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT_SECONDS,
        )
    assert ended.returncode == 1
    names = name.replace("PORT", "HOST") + f", {name}"
    why = f"{names}: cannot listen on 127.0.0.1:{ports[name]}: Address already in use."
    assert ended.stderr.splitlines() == [f"Configuration: {why}"]
