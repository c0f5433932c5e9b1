"""A proxy in front of live servers."""

import os
import shutil
from collections.abc import Iterator

import pytest

from partners.models import Partner
from tests import factories
from tests.deploy.asking import direct_transport, over_tls
from tests.deploy.proxy import NAME, Proxy, running
from tests.slow.live.conftest import Server, partner, serving
from tests.support.client import PartnerClient

__all__ = ["partner"]


def program(name: str) -> str:
    """Return a program's path; skip the test if it is missing, unless REQUIRE_TOOLCHAINS is set."""
    # Debian's nginx is not on everybody's PATH.
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None and not os.environ.get("REQUIRE_TOOLCHAINS"):
        pytest.skip(f"{name} is not here")
    assert found, f"{name} is not here: see .ci/run"
    return found


@pytest.fixture(scope="session")
def nginx() -> str:
    """The program."""
    return program("nginx")


@pytest.fixture(scope="session")
def servers(django_db_setup: None) -> Iterator[tuple[Server, Server]]:
    """Two services that accept the proxy's host name."""
    with serving(ALLOWED_HOSTS=NAME) as first, serving(ALLOWED_HOSTS=NAME) as second:
        yield first, second


@pytest.fixture(scope="session")
def proxy(nginx: str, servers: tuple[Server, Server]) -> Iterator[Proxy]:
    """A proxy in front of both servers."""
    with running(nginx, [server.port for server in servers]) as proxy:
        yield proxy


@pytest.fixture
def direct(servers: tuple[Server, Server], partner: Partner) -> PartnerClient:
    """A client of the service without the proxy."""
    return factories.client_of(partner, direct_transport(servers[0].port))


@pytest.fixture
def through(proxy: Proxy, direct: PartnerClient) -> PartnerClient:
    """A client through the proxy."""
    return PartnerClient(direct.api_key, direct.secret, over_tls(proxy))
