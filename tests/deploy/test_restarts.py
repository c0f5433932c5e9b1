"""Two units behind the proxy: each is restarted, then one is killed, while clients write and read without retries.

RESTARTS=10 and KILLS=10 for the long run; -s shows its figures.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings

from core.database import serving_role
from partners.models import Partner
from tests import factories
from tests.conftest import database_url
from tests.deploy.asking import over_tls
from tests.deploy.proxy import NAME, Proxy, running
from tests.resilience.load import Tally, assert_each_write_happened_once, load
from tests.slow.live.conftest import Server, free_port, kill, launch, stop
from tests.support.client import PartnerClient
from tests.support.watched import wait_until

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


@contextmanager
def clients(front: Proxy, api: PartnerClient, url: str) -> Iterator[Tally]:
    """Run clients during the block; then assert that no write is lost or doubled. url: of the database."""
    assert api.post("/v1/users", factories.user_body(externalId="ada")).status == 201
    # An address each, and a pause: nginx takes 200 requests a second from one.
    with load(
        api,
        lambda number: front.connect(address=f"127.0.0.{number + 1}"),
        clients=CLIENTS,
        pause=0.01,
        host=NAME,
    ) as tally:
        yield tally
    print(tally)  # noqa: T201 - figures of a long run, shown with -s
    assert_each_write_happened_once(api, tally, url)


def test_a_rolling_restart_fails_nothing(units: Units, front: Proxy, api: PartnerClient) -> None:
    with clients(front, api, database_url(serving_role.SERVING)) as tally:
        for number in [0, 1] * RESTARTS:
            enough = tally.responses + BETWEEN
            wait_until(lambda enough=enough: tally.responses >= enough)  # type: ignore[misc]
            units.restart(number)
    assert (tally.failures, tally.refused) == (Counter(), Counter())


def test_a_killed_unit_fails_only_writes_in_progress(units: Units, front: Proxy, api: PartnerClient) -> None:
    with clients(front, api, database_url(serving_role.SERVING)) as tally:
        for _ in range(KILLS):
            enough = tally.responses + BETWEEN
            wait_until(lambda enough=enough: tally.responses >= enough)  # type: ignore[misc]
            units.restart(0, by_kill=True)
    assert not tally.failures
    assert tally.refused.keys() <= {"POST 503", "PATCH 503"}
    assert tally.refused.total() <= KILLS * CLIENTS
