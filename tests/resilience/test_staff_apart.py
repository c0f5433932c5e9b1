"""STAFF_PORT: the work of staff does not block partners."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from config.embedded.server import SUPERUSER
from config.serve import THREADS
from partners.db import serving_role
from partners.models import Partner
from tests import factories
from tests.conftest import database_url
from tests.live.conftest import free_port
from tests.support.client import PartnerClient, Response, over_http
from tests.support.watched import Watched, wait_until, watched

WAITING = """
    SELECT count(*) FROM pg_stat_activity
     WHERE application_name = 'partner-service' AND datname = current_database() AND wait_event_type = 'Lock'
"""
# Whose session is looked up, and is not there.
STRANGER = {"X-Forwarded-Proto": "https", "Cookie": f"__Host-session={'a' * 32}"}


@pytest.fixture(scope="module")
def staff_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def service(django_db_setup: None, staff_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched(tmp_path_factory.mktemp("log") / "log", STAFF_PORT=str(staff_port)) as service:
        wait_until(lambda: page(staff_port).status == 302)
        yield service


@pytest.fixture
def api(partner: Partner, service: Watched) -> PartnerClient:
    return factories.client_of(partner, service.transport)


def page(port: int) -> Response:
    """Request a page of the back office without a session."""
    return over_http("127.0.0.1", port)("GET", "/admin/", STRANGER, b"")


def staff_worker(service: Watched, staff_port: int) -> psutil.Process | None:
    """Return the process that listens on STAFF_PORT."""
    for worker in psutil.Process(service.process.pid).children():
        with suppress(psutil.NoSuchProcess):
            listening = [end for end in worker.net_connections("tcp") if end.status == psutil.CONN_LISTEN]
            if staff_port in {end.laddr.port for end in listening}:
                return worker
    return None


def test_partners_get_responses_while_all_threads_of_staff_wait(api: PartnerClient, staff_port: int) -> None:
    with (
        psycopg.connect(database_url(serving_role.SERVING, SUPERUSER)) as blocker,
        psycopg.connect(database_url(serving_role.SERVING), autocommit=True) as observer,
        ThreadPoolExecutor(2 * THREADS) as pool,
    ):
        # Each page for staff begins with its session.
        blocker.execute("LOCK TABLE django_session IN ACCESS EXCLUSIVE MODE")
        pages = [pool.submit(page, staff_port) for _ in range(2 * THREADS)]
        try:
            wait_until(lambda: observer.execute(WAITING).fetchone() == (THREADS,))
            assert {api.get("/v1/ping").status for _ in range(2 * THREADS)} == {200}
            assert observer.execute(WAITING).fetchone() == (THREADS,)
        finally:
            blocker.rollback()
        assert {answer.result().status for answer in pages} == {302}


def test_the_staff_worker_does_not_count_as_one_for_partners(service: Watched, staff_port: int) -> None:
    wait_until(lambda: staff_worker(service, staff_port))
    assert b"psi_workers 1.0" in service.internal("/metrics").body


def test_the_staff_worker_is_replaced_like_the_others(api: PartnerClient, service: Watched, staff_port: int) -> None:
    before = staff_worker(service, staff_port)
    assert before is not None
    service.process.send_signal(signal.SIGHUP)
    wait_until(lambda: staff_worker(service, staff_port) not in {None, before} and not before.is_running())
    assert (page(staff_port).status, api.get("/v1/ping").status) == (302, 200)


def test_health_warns_if_there_is_no_staff_worker(api: PartnerClient, service: Watched, staff_port: int) -> None:
    def is_warned() -> bool:
        # A successor comes at once, then after pauses that grow.
        if (worker := staff_worker(service, staff_port)) is not None:
            worker.kill()
        found = service.internal("/readyz")
        return found.status == 200 and found.json()["warnings"] == {"staff": "there is no worker for staff"}

    wait_until(is_warned)
    assert api.get("/v1/ping").status == 200
    wait_until(lambda: page(staff_port).status == 302)
    wait_until(lambda: service.internal("/readyz").json()["warnings"] == {})


def test_without_staff_port_one_port_serves_everything(partner: Partner, tmp_path: Path, django_db_setup: None) -> None:
    with watched(tmp_path / "log") as service:
        assert page(service.port).status == 302
        assert factories.client_of(partner, service.transport).get("/v1/ping").status == 200
