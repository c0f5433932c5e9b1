"""Two live servers, a process each, on the test database: what partners meet in production."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psycopg
import pytest
from django.conf import settings
from django.db import connections

from core.database import serving_role
from events.feed.relay import Relay
from partners.models import Partner
from tests import factories
from tests.conftest import database_url
from tests.support.client import PartnerClient, Transport, over_http
from tests.support.static_files import static_files
from tests.support.timeouts import WAIT_SECONDS


@dataclass(frozen=True)
class Server:
    """A running service."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def transport(self) -> Transport:
        return over_http("127.0.0.1", self.port)


def production(**environment: str) -> dict[str, str]:
    """The environment of a service as production runs it, but with one process and the test's keys and time-outs.

    A test whose subject is a time-out sets DJANGO_SETTINGS_MODULE to config.settings.
    """
    return {
        "DJANGO_SETTINGS_MODULE": "tests.server_settings",
        "DEBUG": "false",
        "STAFF_MFA_REQUIRED": "true",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "SECRETS_ENCRYPTION_KEYS": ",".join(settings.SECRETS_ENCRYPTION_KEYS),
        "DATABASE_URL": database_url(serving_role.SERVING),
        "ALLOWED_HOSTS": "127.0.0.1",
        "PARTNER_RATE_LIMIT": "1000000/minute",
        "REDIS_URL": "",
        "DOCUMENT_STORAGE_URL": (Path(settings.BASE_DIR) / ".local" / "documents").as_uri(),
        "TEST_STATIC_ROOT": str(static_files()),
    } | environment


# Below those that Linux gives to outgoing connections, of which one could take the port before the server has it.
_PORTS = range(10_000, 32_768)


def free_port() -> int:
    """A port that nobody listens on."""
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def start_server(**environment: str) -> Server:
    """The service, started by its one entry point, once it answers."""
    return answering(launch(None, **environment))


def launch(output: IO[bytes] | None = None, checkout: Path = Path(settings.BASE_DIR), /, **environment: str) -> Server:
    """The service of this checkout, on PORT or a free port; it may not answer yet."""
    environment = {"PORT": str(free_port())} | environment
    process = subprocess.Popen(
        [sys.executable, "-m", "config.serve"],
        env=os.environ | production(**environment),
        cwd=checkout,
        stdout=output or subprocess.DEVNULL,
        stderr=output or subprocess.DEVNULL,
        # To kill it with its worker, as systemd does.
        start_new_session=True,
    )
    return Server(int(environment["PORT"]), process)


def stop(server: Server) -> None:
    """End the service in order."""
    server.process.terminate()
    server.process.wait(timeout=WAIT_SECONDS)


def kill(server: Server) -> None:
    """Kill the service with its worker."""
    with suppress(ProcessLookupError):
        os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait(timeout=WAIT_SECONDS)


def answering(server: Server) -> Server:
    """The same, once it answers."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            server.transport("GET", "/v1/ping", {}, b"")
        except OSError:
            assert server.process.poll() is None, "the server has ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)
        else:
            return server


@contextmanager
def serving(**environment: str) -> Iterator[Server]:
    """The service while the block runs, and stopped in order after it."""
    server = start_server(**environment)
    try:
        yield server
    finally:
        stop(server)


_BLOCKED = """
    SELECT pid FROM pg_stat_activity WHERE application_name = 'partner-service' AND %s = ANY(pg_blocking_pids(pid))
"""


def blocked_by(blocker: psycopg.Connection[Any], observer: psycopg.Connection[Any]) -> list[int]:
    """The service's database sessions that wait for a lock of `blocker`.

    observer: a session that commits each statement.
    """
    return [pid for (pid,) in observer.execute(_BLOCKED, [blocker.info.backend_pid])]


@pytest.fixture(scope="session")
def servers(django_db_setup: None) -> Iterator[tuple[Server, Server]]:
    """Two processes of the service on one database."""
    first, second = launch(), launch()
    running = (answering(first), answering(second))
    yield running
    for server in running:
        server.process.terminate()
    for server in running:
        server.process.wait(timeout=WAIT_SECONDS)


@pytest.fixture
def partner(committed_partner: Partner) -> Partner:
    """What these tests call a partner must be there for other processes."""
    return committed_partner


@pytest.fixture
def clients(servers: tuple[Server, Server], partner: Partner) -> tuple[PartnerClient, PartnerClient]:
    """A client of each server, with one key."""
    first = factories.client_of(partner, servers[0].transport)
    return first, PartnerClient(first.api_key, first.secret, servers[1].transport)


@pytest.fixture
def session(django_db_setup: None) -> Iterator[Callable[[], psycopg.Connection[Any]]]:
    """Opens database sessions of the serving role, apart from the servers' and the test's own."""
    opened: list[psycopg.Connection[Any]] = []

    def connect() -> psycopg.Connection[Any]:
        opened.append(psycopg.connect(database_url(serving_role.SERVING)))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture
def relay(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The relay of events, as deliver_events runs it; and access to the database."""
    ended = threading.Event()

    def place() -> None:
        own = Relay()
        while not ended.is_set():
            if not own.assign_positions():
                ended.wait(0.01)
        connections.close_all()

    with django_db_blocker.unblock(), ThreadPoolExecutor(1) as pool:
        placing = pool.submit(place)
        yield
        ended.set()
        placing.result()
