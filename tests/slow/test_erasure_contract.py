"""What a partner meets of an erased user: contract, section 14. Never a 500."""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from django.core.files.storage import storages
from django.db import connections

from core.database import serving_role
from core.models import AuditEntry
from events.feed.relay import Relay
from events.models import WebhookDelivery
from partners.models import IdempotencyRecord, Partner, UsedSignature
from tests import factories
from tests.conftest import database_url
from tests.support.at_once import wait_for_sessions
from tests.support.client import PartnerClient, in_process
from tests.support.documents import add_document
from tests.support.erasing import approve_erasure, date_back
from tests.support.erasing import erase as insert_erasure
from transactions.documents.downloads import STORAGE
from users.models import User

pytestmark = pytest.mark.usefixtures("committed_partner")
LONG_AGO = datetime(2015, 6, 1, tzinfo=UTC)
# What a path has to encode, and what it has not.
NAME = "é a~b%c:d-_.(é)"


@pytest.fixture
def client(committed_partner: Partner) -> PartnerClient:
    return factories.client_of(committed_partner, in_process)


@pytest.fixture
def owner(committed_partner: Partner) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url(serving_role.OWNER)) as session:
        yield session
    connections.close_all()


def erase(owner: psycopg.Connection, user: User) -> None:
    """Erase a user by an approved erasure, without the commit."""
    approve_erasure(user)
    insert_erasure(owner, user)


def register(client: PartnerClient, external_id: str, key: str | None = None) -> User:
    """A user that the partner registered, rejected long ago."""
    response = client.post("/v1/users", factories.user_body(externalId=external_id), key=key)
    assert response.status == 201, response.body
    user = User.objects.get(pk=response.json()["userId"])
    factories.decide(user, "rejected")
    date_back(user.pk, LONG_AGO)
    return user


def path_of(external_id: str) -> str:
    return f"/v1/users/{quote(external_id, safe='')}"


def test_a_user_is_gone_under_every_path(client: PartnerClient, owner: psycopg.Connection, folder: Path) -> None:
    user = register(client, "gone")
    document = add_document(user, created_at=LONG_AGO)
    other = register(client, "stays")
    erase(owner, user)
    owner.commit()
    paths = ("", "/transactions", "/documents", f"/documents/{document.document_id}")
    assert [client.get(f"/v1/users/gone{path}").status for path in paths] == [404] * 4
    assert client.patch("/v1/users/gone", {"city": "Ottawa"}).status == 404
    note = f"/v1/users/gone/requirements/{uuid.uuid4()}/response"
    assert client.post(note, {"note": "Seen."}).status == 404
    assert [one["externalId"] for one in client.get("/v1/users").json()["items"]] == [other.external_id]


def test_the_feed_has_the_erasure_and_nothing_before_it(
    client: PartnerClient, committed_partner: Partner, owner: psycopg.Connection
) -> None:
    user, other = register(client, "gone"), register(client, "stays")
    endpoint = factories.WebhookEndpointFactory.create(partner=committed_partner)
    Relay().assign_positions()
    assert WebhookDelivery.objects.filter(endpoint=endpoint, user_id=user.pk).count() == 1
    begun = client.get("/v1/events?limit=1").json()["nextCursor"]
    erase(owner, user)
    owner.commit()
    Relay().assign_positions()
    events = client.get("/v1/events").json()["items"]
    told = {"externalId": "gone", "userId": str(user.pk)}
    assert [(one["type"], one["data"]["externalId"]) for one in events] == [
        ("user.statusChanged", "stays"),
        ("user.erased", "gone"),
    ]
    assert events[-1]["data"] == told
    assert client.get(f"/v1/events?cursor={begun}").json()["items"][-1]["data"] == told
    sent = WebhookDelivery.objects.filter(endpoint=endpoint).values_list("type", "user_id")
    assert set(sent) == {("user.statusChanged", other.pk), ("user.erased", user.pk)}


def test_cursors_go_on_or_say_that_their_row_is_gone(client: PartnerClient, owner: psycopg.Connection) -> None:
    users = [register(client, f"user-{number}") for number in range(4)]
    first = client.get("/v1/users?limit=2").json()
    assert [one["externalId"] for one in first["items"]] == ["user-3", "user-2"]
    erase(owner, users[1])
    owner.commit()
    second = client.get(f"/v1/users?limit=2&cursor={first['nextCursor']}")
    assert [one["externalId"] for one in second.json()["items"]] == ["user-0"]
    erase(owner, users[2])
    owner.commit()
    gone = client.get(f"/v1/users?limit=2&cursor={first['nextCursor']}")
    assert (gone.status, gone.json()["fieldErrors"][0]["field"]) == (400, "cursor")


def test_the_list_of_users_is_read_while_one_is_erased(client: PartnerClient, owner: psycopg.Connection) -> None:
    user = register(client, "going")
    erase(owner, user)
    assert [one["externalId"] for one in client.get("/v1/users").json()["items"]] == ["going"]
    assert client.get("/v1/users/going").status == 200
    owner.commit()
    assert client.get("/v1/users").json()["items"] == []


@pytest.mark.parametrize("name", ["plain", NAME])
def test_its_external_id_keys_and_signatures_are_free_again(
    name: str, client: PartnerClient, committed_partner: Partner, owner: psycopg.Connection
) -> None:
    key, change_key = str(uuid.uuid4()), str(uuid.uuid4())
    user, other = register(client, name, key), register(client, f"{name}-longer", str(uuid.uuid4()))
    assert client.patch(path_of(name), {"city": "Ottawa"}, key=change_key).status == 200
    timestamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert client.patch(path_of(name), {"city": "Halifax"}, timestamp=timestamp).status == 200
    assert client.patch(path_of(name), {"city": "Halifax"}, timestamp=timestamp).status == 401
    erase(owner, user)
    owner.commit()
    assert client.patch(path_of(name), {"city": "Halifax"}, timestamp=timestamp).status == 404
    assert client.patch(path_of(name), {"city": "Ottawa"}, key=change_key).status == 404
    assert not UsedSignature.objects.filter(partner=committed_partner).exists()
    [left] = IdempotencyRecord.objects.filter(partner=committed_partner)
    assert left.location == path_of(other.external_id)
    again = client.post("/v1/users", factories.user_body(externalId=name), key=key)
    assert again.status == 201
    assert again.json()["userId"] != str(user.pk)


ANSWER = f"/v1/users/waited-for/requirements/{uuid.UUID(int=4)}/response"


@pytest.mark.parametrize("key", [None, str(uuid.UUID(int=5))], ids=["without a key", "with a key"])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("PATCH", "/v1/users/waited-for", {"city": "Ottawa"}), ("POST", ANSWER, {"note": "Seen."})],
    ids=["update", "answer to a requirement"],
)
def test_a_write_that_waits_for_the_lock_is_not_found(
    method: str,
    path: str,
    body: object,
    key: str | None,
    client: PartnerClient,
    owner: psycopg.Connection,
) -> None:
    user = register(client, "waited-for")
    erase(owner, user)

    def send() -> int:
        try:
            return client.send(method, path, body, key=key).status
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(send)
        wait_for_sessions(1)
        owner.commit()
        assert answer.result() == 404


def test_a_registration_that_waits_for_the_name_makes_another_user(
    client: PartnerClient, owner: psycopg.Connection
) -> None:
    user = register(client, "again")
    erase(owner, user)

    def create() -> tuple[int, str]:
        try:
            response = client.post("/v1/users", factories.user_body(externalId="again"))
            return response.status, response.json().get("userId")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(create)
        wait_for_sessions(1)
        owner.commit()
        status, user_id = answer.result()
    assert (status, user_id != str(user.pk)) == (201, True)


def test_a_download_that_began_before_the_erasure_is_not_found(
    client: PartnerClient, owner: psycopg.Connection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = register(client, "downloaded")
    document = add_document(user, created_at=LONG_AGO)
    storage = storages[STORAGE]
    opened = storage.open

    def erased_first(name: str) -> object:
        erase(owner, user)
        owner.commit()
        storage.delete(name)
        return opened(name)

    monkeypatch.setattr(storage, "open", erased_first)
    assert client.get(f"/v1/users/downloaded/documents/{document.document_id}").status == 404
    assert AuditEntry.objects.filter(object=str(user.pk), action="user.erased").exists()


def test_others_are_not_touched(client: PartnerClient, owner: psycopg.Connection) -> None:
    user, other = register(client, "gone"), register(client, "stays")
    factories.add_conversions(other, [LONG_AGO + timedelta(days=1)])
    approve_erasure(user)
    before = AuditEntry.objects.exclude(object=str(user.pk)).count()
    insert_erasure(owner, user)
    owner.commit()
    assert AuditEntry.objects.exclude(object=str(user.pk)).count() == before
    assert len(client.get("/v1/users/stays/transactions").json()["items"]) == 1
