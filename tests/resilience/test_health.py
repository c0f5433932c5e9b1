"""Health: it names problems in time, whatever hangs."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from django.db import connections

from core.database import serving_role
from tests.conftest import database_url
from tests.slow.live.conftest import free_port
from tests.support.redis_process import own_redis
from tests.support.watched import Relay, Watched, promptly, wait_until, watched

HEALTHY = {"database": "ok", "migrations": "ok"}
TIMEOUT = "does not respond within 1.5 seconds"
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
    with watched(tmp_path_factory.mktemp("log") / "log", DATABASE_URL=url) as service:
        yield service


def test_a_healthy_service_has_status_ok(service: Watched) -> None:
    # On a busy machine even this database may once take longer than a probe waits for it.
    wait_until(lambda: service.health() == (200, HEALTHY))
    assert service.monitored("/livez").json() == {"status": "ok"}
    response = service.monitored("/readyz")
    assert (response.header("Content-Type"), response.json()["status"]) == ("application/json", "ok")
    assert response.header("Cache-Control") == "no-store"
    assert service.transport("POST", "/readyz", {}, b"").status == 405


def test_an_unreachable_database_is_reported_until_it_is_back(service: Watched, relay: Relay) -> None:
    relay.cut()
    assert promptly(service.health)[0] == 503
    # Nothing is known of migrations then.
    wait_until(lambda: service.health() == (503, {"database": UNREACHABLE}))
    assert service.monitored("/livez").status == 200
    assert b"psi_database_up 0.0" in service.monitored("/metrics").body
    relay.begin()
    wait_until(lambda: service.health() == (200, HEALTHY))
    wait_until(lambda: b"psi_database_up 1.0" in service.monitored("/metrics").body)


def test_a_database_that_hangs_is_reported_in_time(service: Watched, relay: Relay) -> None:
    relay.hangs.set()
    try:
        for _ in range(3):
            health = promptly(service.health)
            assert health == (503, {"database": TIMEOUT})
        assert b"psi_database_up 0.0" in promptly(lambda: service.monitored("/metrics").body)
        assert service.monitored("/livez").status == 200
        (worker,) = psutil.Process(service.process.pid).children()
        threads = worker.num_threads()
        for _ in range(5):
            service.health()
        # The hung probes hold their threads, however many requests wait for them; granian may have started one more.
        assert worker.num_threads() <= threads + 2
    finally:
        relay.hangs.clear()
    wait_until(lambda: service.health() == (200, HEALTHY))


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
        wait_until(lambda: service.health()[1].get("migrations", "").startswith("not applied: account.0001_initial, "))
        assert service.health()[0] == 503
        with psycopg.connect(database_url(serving_role.SERVING)) as session:
            applied = session.execute("SELECT app, name FROM django_migrations").fetchall()
        with psycopg.connect(scratch) as session:
            session.execute("CREATE TABLE django_migrations (app text, name text)")
            session.execute(f"GRANT SELECT ON django_migrations TO {serving['USER']}")
            rows = [row for row in applied if row != ("users", "0001_initial")]
            session.cursor().executemany("INSERT INTO django_migrations VALUES (%s, %s)", rows)
        wait_until(lambda: service.health() == (503, HEALTHY | {"migrations": "not applied: users.0001_initial"}))
        assert service.monitored("/livez").status == 200
        with psycopg.connect(scratch) as session:
            # And one of a later version, which this one need not know.
            session.execute("INSERT INTO django_migrations VALUES ('users', '0001_initial'), ('users', '9999_later')")
        wait_until(lambda: service.health() == (200, HEALTHY))


def test_an_unreachable_redis_is_reported(tmp_path: Path, django_db_setup: None) -> None:
    port = free_port()
    with watched(tmp_path / "log", REDIS_URL=f"redis://127.0.0.1:{port}/0") as service:
        with own_redis(port, tmp_path):
            wait_until(lambda: service.health() == (200, HEALTHY | {"redis": "ok"}))
        assert promptly(service.health)[0] == 503
        wait_until(lambda: service.health() == (503, HEALTHY | {"redis": UNREACHABLE}))
        assert service.monitored("/livez").status == 200
