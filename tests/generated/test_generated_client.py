"""A client generated from the OpenAPI document works with a signing hook for httpx."""

import asyncio
import importlib
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.conf import settings

import psi
from partners.models import Mode
from tests import factories
from tests.slow.live.conftest import Server
from tests.support.client import PartnerClient
from tests.support.events import place_events
from users.models import Status

PACKAGE = "partner_service_interface_client"
CONVERSION = {
    "from": {"currency": "CAD", "amount": "100.00"},
    "to": {"currency": "USD", "amount": "71.50"},
    "rate": "0.715",
}


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The package, on the path."""
    folder = tmp_path_factory.mktemp("generated") / "client"
    description = Path(settings.BASE_DIR, "docs", "openapi.yaml")
    made = subprocess.run(
        [
            *(sys.executable, "-m", "openapi_python_client", "generate"),
            *("--path", description, "--output-path", folder, "--meta", "none", "--fail-on-warning"),
            *("--config", Path(__file__).parent / "generated_client.yaml"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    folder.rename(folder.with_name(PACKAGE))
    sys.path.insert(0, str(folder.parent))
    yield folder
    sys.path.remove(str(folder.parent))


def module(name: str) -> ModuleType:
    return importlib.import_module(f"{PACKAGE}.{name}")


def signing_client(server: Server, key: PartnerClient) -> Any:
    """A generated client that signs with a key."""
    return module("client").Client(
        base_url=f"http://127.0.0.1:{server.port}",
        httpx_args={"auth": psi.Auth(key.api_key, key.secret)},
        raise_on_unexpected_status=True,
    )


@pytest.fixture
def unopened(generated: Path, servers: tuple[Server, Server], clients: tuple[PartnerClient, PartnerClient]) -> Any:
    """A client of the partner."""
    return signing_client(servers[0], clients[0])


@pytest.fixture
def client(unopened: Any) -> Iterator[Any]:
    with unopened:
        yield unopened


@pytest.fixture
def sandbox(generated: Path, servers: tuple[Server, Server], partner: Any) -> Iterator[Any]:
    """A client of a sandbox partner."""
    owner = factories.PartnerFactory.create(slug=f"{partner.slug}-sandbox", mode=Mode.SANDBOX)
    with signing_client(servers[0], factories.client_of(owner, servers[0].transport)) as client:
        yield client


def test_it_makes_a_first_signed_call(client: Any, partner: Any) -> None:
    response = module("api.ping.ping").sync_detailed(client=client)
    assert (response.status_code, response.parsed.partner) == (200, partner.slug)


def test_it_registers_reads_changes_and_lists(client: Any) -> None:
    models = module("models")
    body = factories.user_body()
    created = module("api.users.create_user").sync(client=client, body=models.NewUser.from_dict(body))
    assert (created.external_id, created.status) == (body["externalId"], "pendingCompliance")

    changes = models.UserChanges.from_dict({"city": "Ottawa"})
    changed = module("api.users.update_user").sync(body["externalId"], client=client, body=changes)
    read = module("api.users.get_user").sync(body["externalId"], client=client)
    assert changed.updated_at == read.updated_at

    page = module("api.conversions.list_transactions").sync(body["externalId"], client=client, limit=1)
    assert (page.items, page.next_cursor) == ([], None)


def test_it_reads_events(client: Any, partner: Any) -> None:
    user = factories.UserFactory.create(partner=partner, status=Status.ACTIVE)
    place_events()
    page = module("api.events.list_events").sync(client=client)
    event = page.items[-1]
    assert isinstance(event, module("models").StatusChangedEvent)
    assert (event.data.external_id, event.data.status) == (user.external_id, "active")
    raw = event.to_dict() | {"type": "user.renamed"}
    later = module("models").EventPage.from_dict(page.to_dict() | {"items": [raw]})
    assert isinstance(later.items[0], module("models").OtherEvent)


def test_it_walks_the_sandbox(sandbox: Any) -> None:
    models = module("models")
    assert module("api.ping.ping").sync(client=sandbox).mode == "sandbox"
    body, key = factories.user_body(), str(uuid.uuid4())
    user = body["externalId"]

    create = module("api.users.create_user").sync
    refused = create(client=sandbox, body=models.NewUser.from_dict(body | {"postalCode": "K1A"}))
    assert [(error.field, error.code) for error in refused.field_errors] == [("postalCode", "format")]
    created = create(client=sandbox, body=models.NewUser.from_dict(body), idempotency_key=key)
    write = module("api.idempotency_keys.get_idempotency_key").sync(key, client=sandbox)
    assert (str(write.idempotency_key), write.method, write.path, write.status) == (key, "POST", "/v1/users", 201)

    decision = models.SimulatedDecision.from_dict({"status": "active"})
    decided = module("api.sandbox.simulate_decision").sync(user, client=sandbox, body=decision)
    assert (decided.user_id, decided.status) == (created.user_id, "active")
    [listed] = module("api.users.list_users").sync(client=sandbox, status=models.UserStatus.ACTIVE).items
    assert (listed.external_id, listed.updated_at) == (user, decided.updated_at)

    conversions = models.SimulatedConversions.from_dict({"items": [CONVERSION, CONVERSION | {"conversionId": "cv-1"}]})
    recorded = module("api.sandbox.simulate_transactions").sync(user, client=sandbox, body=conversions)
    page = module("api.conversions.list_transactions").sync(user, client=sandbox)
    assert {item.conversion_id for item in page.items} == {item.conversion_id for item in recorded.items}
    assert recorded.items[1].from_.amount == "100.00"

    document = models.SimulatedDocument.from_dict({"type": "taxSlip", "title": "T5"})
    published = module("api.sandbox.simulate_document").sync(user, client=sandbox, body=document)
    file = module("api.documents.get_document").sync(user, published.document_id, client=sandbox)
    assert file.payload.read().startswith(b"%PDF-")

    place_events()
    events = module("api.events.list_events").sync(client=sandbox).items
    assert [event.data.external_id for event in events] == [user] * 3
    assert (events[0].data.status, events[1].data.count, events[2].data.document_id) == (
        "active",
        2,
        published.document_id,
    )


def test_it_reads_an_error(client: Any) -> None:
    models = module("models")
    body = models.NewUser.from_dict(factories.user_body(email="nobody"))
    response = module("api.users.create_user").sync(client=client, body=body)
    assert isinstance(response, models.BadRequest)
    assert [error.field for error in response.field_errors] == ["email"]


def test_it_calls_without_blocking(unopened: Any, partner: Any) -> None:
    async def call() -> Any:
        async with unopened:
            return await module("api.ping.ping").asyncio(client=unopened)

    assert asyncio.run(call()).partner == partner.slug
