"""How a process of the service ends: in order, killed, or because it cannot start."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from django.conf import settings

from config.serve import STOPPING_SECONDS
from partners.models import Partner
from tests import factories
from tests.resilience.load import KeptConnection, to_port
from tests.slow.live.conftest import blocked_by, free_port, production
from tests.support.client import PartnerClient
from tests.support.timeouts import WAIT_SECONDS
from tests.support.watched import Watched, wait_until, watched

Session = Callable[[], psycopg.Connection[Any]]


@pytest.fixture
def service(django_db_setup: None, tmp_path: Path) -> Iterator[Watched]:
    with watched(tmp_path / "log") as running:
        yield running


@pytest.fixture
def api(partner: Partner, service: Watched) -> PartnerClient:
    return factories.client_of(partner, service.transport)


def refuses(service: Watched) -> bool:
    try:
        socket.create_connection(("127.0.0.1", service.port)).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_request_in_progress_gets_its_response_when_the_service_stops(
    api: PartnerClient, service: Watched, session: Session
) -> None:
    body = factories.user_body()
    api.post("/v1/users", body)
    blocker, observer = session(), session()
    blocker.execute("SELECT FROM users_user WHERE external_id = %s FOR UPDATE", [body["externalId"]])
    observer.autocommit = True
    silent = KeptConnection(partial(to_port(service.port), 0))
    assert PartnerClient(api.api_key, api.secret, silent).get("/v1/ping").status == 200
    with ThreadPoolExecutor(1) as pool:
        response = pool.submit(api.patch, f"/v1/users/{body['externalId']}", {"city": "Ottawa"})
        wait_until(lambda: blocked_by(blocker, observer))
        service.process.terminate()
        wait_until(lambda: refuses(service))
        blocker.rollback()
        assert response.result().status == 200
    # A kept connection without a request does not delay the end.
    assert service.process.wait(timeout=STOPPING_SECONDS * 0.8) == 0
    silent.close()
    assert {line["event"] for line in service.lines()} == {"request"}


def test_a_service_whose_worker_dies_ends(service: Watched) -> None:
    (worker,) = psutil.Process(service.process.pid).children()
    worker.kill()
    assert service.process.wait(timeout=WAIT_SECONDS) == 1
    last = service.lines()[-1]
    assert (last["event"], last["logger"]) == ("Unexpected exit from worker-1", "_granian")


def failed_start(**environment: str) -> str:
    """Return what a service wrote that could not start."""
    ended = subprocess.run(
        [sys.executable, "-m", "config.serve"],
        env=os.environ | production(**{"PORT": str(free_port())} | environment),
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_SECONDS,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    return ended.stderr


@pytest.mark.parametrize("reuse_port", [False, True], ids=["another program", "another service"])
def test_a_port_in_use_stops_the_start_with_one_line(*, reuse_port: bool, django_db_setup: None) -> None:
    with socket.create_server(("127.0.0.1", 0), reuse_port=reuse_port) as taken:
        port = str(taken.getsockname()[1])
        written = failed_start(PORT=port)
    assert written == f"Configuration: HOST, PORT: cannot listen on 127.0.0.1:{port}: Address already in use.\n"


def test_code_that_cannot_be_loaded_stops_the_start(tmp_path: Path, django_db_setup: None) -> None:
    (tmp_path / "bad_settings.py").write_text(
        "from tests.server_settings import *\nMIDDLEWARE = ['nothing.of.the.kind', *MIDDLEWARE]\n"
    )
    written = failed_start(DJANGO_SETTINGS_MODULE="bad_settings", PYTHONPATH=str(tmp_path))
    assert "ModuleNotFoundError" in written
