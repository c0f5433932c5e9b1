"""Every kind of request by DRF's APIClient, which fills the WSGI environment otherwise than a server does.

All other tests call the WSGI application with the server's environment, and those of tests/slow/live a running one.
"""

import hashlib
import json
from datetime import timedelta
from pathlib import Path

import pytest

from partners.models import Mode, Partner
from tests import factories
from tests.support.client import PartnerClient, Transport, by_api_client
from tests.support.documents import LONG, add_document, folder
from tests.support.responses import assert_error
from users.models import User

__all__ = ("folder",)

KEY = "7f8d2c1a-3b4e-4f5a-8c6d-9e0f1a2b3c4d"


@pytest.fixture
def transport() -> Transport:
    return by_api_client


def test_a_ping_names_the_partner(api: PartnerClient, partner: Partner) -> None:
    response = api.get("/v1/ping")
    assert (response.status, response.json()["partner"]) == (200, partner.slug)


def test_a_user_is_created_where_location_says(api: PartnerClient) -> None:
    response = api.post("/v1/users", factories.user_body(externalId="a b+é"))
    assert (response.status, response.header("Location")) == (201, "/v1/users/a%20b%2B%C3%A9")
    assert api.get("/v1/users/a%20b%2B%C3%A9").json()["externalId"] == "a b+é"


def test_a_user_is_updated(api: PartnerClient, ada: User) -> None:
    assert api.patch("/v1/users/ada", {"city": "Ottawa"}).status == 200
    ada.refresh_from_db()
    assert ada.city == "Ottawa"


def test_a_key_is_replayed_and_looked_up(api: PartnerClient) -> None:
    body = factories.user_body()
    first, again = (api.post("/v1/users", body, key=KEY) for _ in range(2))
    assert (first.status, again.status, again.body) == (201, 201, first.body)
    assert again.header("Idempotent-Replayed") == "true"
    assert api.get(f"/v1/idempotency-keys/{KEY}").json()["status"] == 201


def test_conversions_are_listed(api: PartnerClient, ada: User) -> None:
    factories.add_conversions(ada, [factories.NOON, factories.NOON - timedelta(days=1)])
    page = api.get("/v1/users/ada/transactions").json()
    assert (len(page["items"]), page["nextCursor"]) == (2, None)


def test_a_document_is_listed_and_streamed(api: PartnerClient, ada: User, folder: Path) -> None:
    document = add_document(ada, LONG)
    [listed] = api.get("/v1/users/ada/documents").json()["items"]
    response = api.get(f"/v1/users/ada/documents/{document.document_id}")
    assert (response.status, response.body) == (200, LONG)
    assert hashlib.sha256(response.body).hexdigest() == listed["sha256"]


def test_a_sandbox_partner_simulates_a_decision(db: None, transport: Transport) -> None:
    sandbox = factories.client_of(factories.PartnerFactory.create(mode=Mode.SANDBOX), transport)
    sandbox.post("/v1/users", factories.user_body(externalId="ada"))
    assert sandbox.post("/v1/sandbox/users/ada/status", {"status": "active"}).status == 200
    assert [one["method"] for one in sandbox.get("/v1/sandbox/requests").json()["items"]] == ["POST", "POST"]


@pytest.mark.parametrize("target", ["/v1/ping?b=2&a=1", "/v1/ping?x=%20+%zz", "/v1/ping?", "/v1/ping?x=é"])
def test_every_query_is_verified_as_it_is_sent(api: PartnerClient, target: str) -> None:
    assert api.get(target).status == 200


def test_another_body_than_the_signed_one_is_refused(api: PartnerClient) -> None:
    headers = api.headers("POST", "/v1/users", b"{}", key=None, timestamp=None, secret=None)
    assert_error(api.transport("POST", "/v1/users", headers, b'{"a": 1}'), 401)


@pytest.mark.parametrize(
    ("status", "method", "target", "content_type"),
    [
        (404, "GET", "/v1/users/nobody", "application/json"),
        (404, "POST", "/v1/nowhere", "application/json"),
        (405, "DELETE", "/v1/users", "application/json"),
        (413, "POST", "/v1/users", "application/json"),
        (415, "POST", "/v1/users", "text/plain"),
    ],
)
def test_a_refusal_has_its_status(api: PartnerClient, status: int, method: str, target: str, content_type: str) -> None:
    body = json.dumps(factories.user_body()).encode() + b" " * (65536 if status == 413 else 0)
    sent = b"" if method == "GET" else body
    assert_error(api.send(method, target, sent, headers={"Content-Type": content_type}), status)
