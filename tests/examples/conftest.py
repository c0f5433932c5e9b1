"""What tests of the examples share: a folder to run them in, a live service, and a gateway before it."""

from collections.abc import Iterator

import pytest

from partners.models import Partner
from tests import factories
from tests.client import PartnerClient
from tests.examples.calling import Access
from tests.examples.gateway import Gateway, gateway_before
from tests.examples.languages import Workshop, workshop
from tests.live.conftest import Server, start_server


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Where the examples are built and run: nothing is written into the checkout."""
    return workshop(tmp_path_factory.mktemp("examples"))


@pytest.fixture(scope="session")
def server(django_db_setup: None) -> Iterator[Server]:
    """A live process of the service."""
    running = start_server()
    yield running
    running.process.terminate()
    running.process.wait(timeout=30)


@pytest.fixture
def gateway(server: Server) -> Iterator[Gateway]:
    """What partners reach the service through."""
    with gateway_before(server.transport) as running:
        yield running


@pytest.fixture
def client(server: Server, committed_partner: Partner) -> PartnerClient:
    """A client of the partner whose key the examples use."""
    return factories.client_of(committed_partner, server.transport)


@pytest.fixture
def access(server: Server, client: PartnerClient) -> Access:
    """The service itself, with no gateway in between."""
    return Access(f"http://127.0.0.1:{server.port}", client.api_key, client.secret)
