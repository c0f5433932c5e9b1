"""Two units behind the proxy: each is restarted, then one is killed, while clients write and read without retries.

RESTARTS=10 and KILLS=10 for the long run; -s shows its figures.
"""

import json
import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from ssl import SSLSocket

import pytest
from django.conf import settings

from partners.models import Partner
from tests import factories
from tests.deploy.asking import ask, head, over_tls
from tests.deploy.proxy import NAME, Proxy, running
from tests.slow.live.conftest import Server, free_port, kill, launch, stop
from tests.support.client import PartnerClient, Response
from tests.support.watched import wait_until
from users.models import User

CLIENTS = 8
RESTARTS = int(os.environ.get("RESTARTS", "2"))
KILLS = int(os.environ.get("KILLS", "2"))
# Responses between two restarts, so that requests are in progress everywhere.
BETWEEN = 50


class Units:
    """Two processes of the service, each started again on its port, as systemd does, before the next one ends.

    checkout: whose program starts; another one may be set between restarts.
    """

    def __init__(self, **environment: str) -> None:
        self.checkout = Path(settings.BASE_DIR)
        self.ports = [free_port(), free_port()]
        self._environment = environment
        self._servers = [self._start(port) for port in self.ports]

    def restart(self, number: int, *, by_kill: bool = False) -> None:
        """End a unit, by SIGTERM or SIGKILL, and start it."""
        (kill if by_kill else stop)(self._servers[number])
        self._servers[number] = self._start(self.ports[number])

    def stop(self) -> None:
        for server in self._servers:
            stop(server)

    def _start(self, port: int) -> Server:
        server = launch(None, self.checkout, PORT=str(port), ALLOWED_HOSTS=NAME, **self._environment)
        # As ExecStartPost of the unit.
        wait_until(lambda: server.transport("GET", "/readyz", {}, b"").status == 200)
        return server


@dataclass
class Tally:
    """What clients got. failed: method and status, or the error. unsure: writes that had no good response, by key."""

    statuses: Counter[int] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    created: set[str] = field(default_factory=set)
    unsure: dict[str, dict[str, object]] = field(default_factory=dict)
    slowest: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def responses(self) -> int:
        return self.statuses.total()

    def __str__(self) -> str:
        return f"{self.responses} responses, failed {dict(self.failed)}, slowest {self.slowest:.2f} s"


class Client:
    """A client that reads and writes in turn over one connection, and repeats nothing."""

    def __init__(self, proxy: Proxy, api: PartnerClient, tally: Tally, address: str) -> None:
        self._proxy, self._api, self._tally, self._address = proxy, api, tally, address

    def run(self, ended: threading.Event) -> None:
        while not ended.is_set():
            with suppress(OSError), self._proxy.connected(address=self._address) as connection:
                while not ended.is_set() and self._write(connection) and self._read(connection):
                    pass

    def _read(self, connection: SSLSocket) -> bool:
        """Read; return whether the connection stays open, as after a write."""
        return stays_open(self._send(connection, "GET", "/v1/ping"))

    def _write(self, connection: SSLSocket) -> bool:
        user, key = factories.user_body(), str(uuid.uuid4())
        response = self._send(connection, "POST", "/v1/users", user, key)
        with self._tally.lock:
            if response is not None and response.status == 201:
                self._tally.created.add(str(user["externalId"]))
            else:
                self._tally.unsure[key] = user
        return stays_open(response)

    def _send(
        self, connection: SSLSocket, method: str, target: str, data: object = None, key: str | None = None
    ) -> Response | None:
        """Return the response, None if there is none."""
        body = json.dumps(data).encode() if data else b""
        headers = self._api.headers(method, target, body, key=key, timestamp=None, secret=None)
        begun, failure, response = time.monotonic(), "", None
        try:
            response = ask(connection, head(method, target, headers, body) + body, method=method)
            if response.status >= 400:
                failure = f"{method} {response.status}"
        except (OSError, HTTPException) as error:
            failure = f"{method} {type(error).__name__}"
        with self._tally.lock:
            self._tally.slowest = max(self._tally.slowest, time.monotonic() - begun)
            if response is not None:
                self._tally.statuses[response.status] += 1
            if failure:
                self._tally.failed[failure] += 1
        return response


def stays_open(response: Response | None) -> bool:
    """Whether a further request can be sent; nginx closes a connection after a thousand."""
    return response is not None and response.header("Connection") != "close"


@contextmanager
def clients(proxy: Proxy, api: PartnerClient) -> Iterator[Tally]:
    """Run the clients during the block; the tally is complete after it."""
    tally, ended = Tally(), threading.Event()
    # An address each: nginx limits the requests of one.
    each = [Client(proxy, api, tally, f"127.0.0.{number + 1}") for number in range(CLIENTS)]
    threads = [threading.Thread(target=client.run, args=(ended,)) for client in each]
    for thread in threads:
        thread.start()
    try:
        yield tally
    finally:
        ended.set()
        for thread in threads:
            thread.join()


@pytest.fixture
def units(django_db_setup: None) -> Iterator[Units]:
    units = Units()
    yield units
    units.stop()


@pytest.fixture
def front(nginx: str, units: Units) -> Iterator[Proxy]:
    with running(nginx, units.ports) as proxy:
        yield proxy


@pytest.fixture
def api(partner: Partner, front: Proxy) -> PartnerClient:
    return factories.client_of(partner, over_tls(front))


def assert_no_write_is_lost_or_doubled(api: PartnerClient, partner: Partner, tally: Tally) -> None:
    """Repeat the writes whose outcome is unknown, each under its key; then all users are there once."""
    for key, user in tally.unsure.items():
        assert api.post("/v1/users", user, key=key).status == 201
        tally.created.add(str(user["externalId"]))
    stored = list(User.objects.filter(partner=partner).values_list("external_id", flat=True))
    assert len(stored) == len(set(stored))
    assert set(stored) == tally.created


def test_a_rolling_restart_fails_nothing(units: Units, front: Proxy, api: PartnerClient, partner: Partner) -> None:
    with clients(front, api) as tally:
        for number in [0, 1] * RESTARTS:
            enough = tally.responses + BETWEEN
            wait_until(lambda enough=enough: tally.responses >= enough)  # type: ignore[misc]
            units.restart(number)
    print(f"{2 * RESTARTS} restarts: {tally}")  # noqa: T201 - figures of a long run, shown with -s
    assert_no_write_is_lost_or_doubled(api, partner, tally)
    assert not tally.failed


def test_a_killed_unit_fails_only_writes_in_progress(
    units: Units, front: Proxy, api: PartnerClient, partner: Partner
) -> None:
    with clients(front, api) as tally:
        for _ in range(KILLS):
            enough = tally.responses + BETWEEN
            wait_until(lambda enough=enough: tally.responses >= enough)  # type: ignore[misc]
            units.restart(0, by_kill=True)
    print(f"{KILLS} kills: {tally}")  # noqa: T201
    assert_no_write_is_lost_or_doubled(api, partner, tally)
    assert tally.failed.keys() <= {"POST 503"}
    assert tally.failed.total() <= KILLS * CLIENTS
