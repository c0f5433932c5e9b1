"""What tests of the examples share: a folder to run them in, a live service, and a gateway before it."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from partners.models import Mode, Partner
from tests import factories
from tests.examples.calling import Access, DrivenClient
from tests.examples.gateway import Gateway, gateway_before
from tests.examples.languages import Language, Workshop, workshop
from tests.slow.live.conftest import Server, start_server
from tests.support.client import PartnerClient
from tests.support.documents import stored_at
from tests.support.timeouts import WAIT_SECONDS
from users.models import User


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Where the examples are built and run: nothing is written into the checkout."""
    return workshop(tmp_path_factory.mktemp("examples"))


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the service has its documents."""
    return tmp_path_factory.mktemp("documents")


@pytest.fixture(scope="session")
def server(django_db_setup: None, kept: Path) -> Iterator[Server]:
    """A live process of the service."""
    running = start_server(DOCUMENT_STORAGE_URL=kept.as_uri())
    yield running
    running.process.terminate()
    running.process.wait(timeout=WAIT_SECONDS)


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
def user(client: PartnerClient, committed_partner: Partner, kept: Path, settings: Settings) -> User:
    """The user whom the snippets are about. What this process publishes, the service finds."""
    settings.STORAGES = stored_at(kept.as_uri())
    assert client.post("/v1/users", factories.user_body(externalId="cust-1001")).status == 201
    return User.objects.get(partner=committed_partner, external_id="cust-1001")


@pytest.fixture
def access(server: Server, client: PartnerClient) -> Access:
    """The service itself, with no gateway in between."""
    return Access(f"http://127.0.0.1:{server.port}", client.api_key, client.secret)


@pytest.fixture
def driven(place: Workshop, language: Language, access: Access) -> DrivenClient:
    """A client of the service."""
    return DrivenClient(place.built(language), language, access)


@pytest.fixture
def through(driven: DrivenClient, gateway: Gateway) -> DrivenClient:
    """A client that reaches the service through the gateway."""
    access = Access(gateway.url, driven.access.api_key, driven.access.secret)
    return DrivenClient(driven.place, driven.language, access)


@pytest.fixture
def sandbox(driven: DrivenClient, server: Server, django_db_blocker: Any) -> Iterator[DrivenClient]:
    """A client of a sandbox partner."""
    with django_db_blocker.unblock():
        partner = factories.PartnerFactory.create(slug=f"sandbox-{uuid.uuid4().hex[:8]}", mode=Mode.SANDBOX)
        key = factories.client_of(partner, server.transport)
        access = Access(driven.access.base_url, key.api_key, key.secret)
        yield DrivenClient(driven.place, driven.language, access)
