"""A proxy before the live servers."""

import os
import shutil
from collections.abc import Iterator

import pytest

from partners.models import Partner
from tests import factories
from tests.deploy.asking import over_tls, past_it
from tests.deploy.proxy import NAME, Proxy, running
from tests.live.conftest import Server, partner, serving
from tests.support.client import PartnerClient

__all__ = ["partner"]


def program(name: str) -> str:
    """Where a program is; without it a test is left out, but not where all toolchains are required."""
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
    """Two processes of the service, which know the proxy's name."""
    with serving(ALLOWED_HOSTS=NAME) as first, serving(ALLOWED_HOSTS=NAME) as second:
        yield first, second


@pytest.fixture(scope="session")
def proxy(nginx: str, servers: tuple[Server, Server]) -> Iterator[Proxy]:
    """One proxy before both servers."""
    with running(nginx, [server.port for server in servers]) as proxy:
        yield proxy


@pytest.fixture
def direct(servers: tuple[Server, Server], partner: Partner) -> PartnerClient:
    """A client that goes past the proxy."""
    return factories.client_of(partner, past_it(servers[0].port))


@pytest.fixture
def through(proxy: Proxy, direct: PartnerClient) -> PartnerClient:
    """The same client through the proxy."""
    return PartnerClient(direct.api_key, direct.secret, over_tls(proxy))
