"""Each operation of the description gives each of its responses."""

import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from unittest.mock import Mock

import pytest

from events.webhooks import addresses, delivering, endpoints
from partners.api.request import MAX_BODY_BYTES
from partners.authentication import keys
from tests import factories
from tests.support import drift
from tests.support.client import PartnerClient, Response, in_process
from tests.support.documents import folder
from tests.support.responses import failing_fields

__all__ = ("folder",)

SANDBOX, USER = "/v1/sandbox", "/v1/users/ada"
CHILD = f"{datetime.now(UTC).year - 10}-01-01"
VERIFICATION = {"method": "creditFile", "verifiedOn": "2026-01-15", "source": "A bureau", "reference": "1"}
CONVERSION = {
    "conversionId": "cv-1",
    "from": {"currency": "CAD", "amount": "100.00"},
    "to": {"currency": "USD", "amount": "71.50"},
    "rate": "0.715",
}
FAULTS = {"tooManyRequests": 429, "internalError": 500, "unavailable": 503}


def operations() -> Iterator[tuple[str, str, Any]]:
    for path, methods in drift.described().document["paths"].items():
        yield from ((path, method.upper(), operation) for method, operation in methods.items())


def expect(status: int, response: Response) -> Any:
    assert response.status == status, response.body
    return response.json() if response.header("Content-Type") == "application/json" else response.body


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Host names resolve to public addresses, and webhooks respond."""
    monkeypatch.setattr(addresses, "look_up", lambda *_: Mock(result=lambda _: []))
    outcome = Mock(status=204, milliseconds=1, error="")
    monkeypatch.setattr(delivering, "send_test", lambda *_, **__: outcome)


def test_every_response_of_every_operation_is_seen(
    sandbox: PartnerClient, api: PartnerClient, no_network: None, folder: object
) -> None:
    drift.SEEN.clear()
    declared = {(one["operationId"], int(status)) for *_, one in operations() for status in one["responses"]}
    for path, method, operation in operations():
        refuse_anything(sandbox, api, path, method, has_body="requestBody" in operation)
    walk_users(sandbox)
    walk_sandbox(sandbox)
    walk_webhooks(sandbox)
    walk_keys(sandbox)
    assert sorted(declared - drift.SEEN) == [], "no test has seen these"


METHODS = {"HEAD", "OPTIONS", "DELETE", "PUT", "TRACE", "CONNECT", "PROPFIND", "DISPATCH", "GET", "POST", "PATCH"}


def test_a_method_that_is_not_described_is_not_allowed(sandbox: PartnerClient) -> None:
    """Elsewhere than in the sandbox, whose paths are no live partner's, without a signature too."""
    for path, methods in drift.described().document["paths"].items():
        target = re.sub(r"{\w+}", str(uuid.uuid4()), path)
        described = {method.upper() for method in methods}
        for method in METHODS - described:
            is_signed = path.startswith(SANDBOX)
            response = sandbox.send(method, target) if is_signed else in_process(method, target, {}, b"")
            assert failing_fields(response, 405) == [], (method, path)
            assert response.header("Allow") == ", ".join(sorted(described)), (method, path)


def refuse_anything(sandbox: PartnerClient, live: PartnerClient, path: str, method: str, *, has_body: bool) -> None:
    """See the errors that any request gets, and that of a path that leads to nothing."""
    unknown = re.sub(r"{(\w+)}", lambda name: "nobody" if name[1] == "externalId" else str(uuid.uuid4()), path)
    body: Any = {} if has_body else None
    for fault, status in FAULTS.items():
        expect(status, sandbox.send(method, unknown, body, headers={"X-Sandbox-Fault": fault}))
    expect(400, sandbox.send(method, f"{unknown}?a=%FF", body))
    expect(401, sandbox.send(method, unknown, body, secret="another"))
    expect(413, sandbox.send(method, unknown, b" " * (MAX_BODY_BYTES + 1)))
    if has_body:
        expect(415, sandbox.send(method, unknown, body, headers={"Content-Type": "text/plain"}))
    if path.startswith(SANDBOX):
        expect(404, live.send(method, unknown, body))
    elif path != unknown:
        expect(404, sandbox.send(method, unknown, body))


def walk_users(client: PartnerClient) -> None:
    expect(200, client.get("/v1/ping"))
    key = str(uuid.uuid4())
    expect(201, client.post("/v1/users", factories.user_body(externalId="ada"), key=key))
    expect(200, client.get(f"/v1/idempotency-keys/{key}"))
    expect(409, client.post("/v1/users", factories.user_body(externalId="ada")))
    expect(422, client.post("/v1/users", factories.user_body(dateOfBirth=CHILD)))
    expect(200, client.patch(USER, {"city": "Ottawa"}))
    expect(422, client.patch(USER, {"dateOfBirth": CHILD}))
    for target in ("/v1/users", USER, f"{USER}/transactions", "/v1/events", f"{SANDBOX}/requests"):
        expect(200, client.get(target))


def walk_sandbox(client: PartnerClient) -> None:
    simulate, verifications = f"{SANDBOX}/users/ada", f"{USER}/verifications"
    expect(201, client.post(verifications, VERIFICATION))
    expect(200, client.get(verifications))
    expect(201, client.post(f"{simulate}/transactions", {"items": [CONVERSION]}))
    expect(409, client.post(f"{simulate}/transactions", {"items": [CONVERSION | {"rate": "0.716"}]}))
    expect(201, client.post(f"{simulate}/documents", {"type": "taxSlip", "title": "T5"}))
    [document] = expect(200, client.get(f"{USER}/documents"))["items"]
    expect(200, client.get(f"{USER}/documents/{document['documentId']}"))
    asked = {"code": "sourceOfFunds", "message": "Where does the money come from?"}
    requirement = expect(201, client.post(f"{simulate}/requirements", asked))["requirementId"]
    response = f"{USER}/requirements/{requirement}/response"
    expect(200, client.post(response, {"note": "A salary."}))
    expect(200, client.post(f"{simulate}/requirements/{requirement}/close", {}))
    expect(409, client.post(f"{simulate}/requirements/{requirement}/close", {}))
    expect(409, client.post(response, {"note": "Savings."}))
    for status in ("active", "closed"):
        expect(200, client.post(f"{simulate}/status", {"status": status}))
    expect(409, client.post(f"{simulate}/status", {"status": "active"}))
    expect(409, client.post(verifications, VERIFICATION))
    expect(409, client.post(f"{simulate}/requirements", asked))
    requests = expect(200, client.get(f"{SANDBOX}/requests"))["items"]
    expect(200, client.get(f"{SANDBOX}/requests/{requests[0]['requestId']}"))


def walk_webhooks(client: PartnerClient) -> None:
    webhooks, settings = f"{SANDBOX}/webhooks", {"url": "https://hooks.example.com/events"}
    added = [expect(201, client.post(webhooks, settings)) for _ in range(endpoints.MAX_ENDPOINTS)]
    expect(409, client.post(webhooks, settings))
    expect(200, client.get(webhooks))
    one = f"{webhooks}/{added[0]['webhookId']}"
    expect(200, client.post(f"{one}/test", {}))
    statuses = [client.post(f"{one}/rotate-secret", {"overlapHours": 1}).status for _ in range(5)]
    assert statuses == [200, 200, 200, 200, 409]
    expect(200, client.send("DELETE", one))


def walk_keys(client: PartnerClient) -> None:
    listed, key = f"{SANDBOX}/api-keys", keys.find(client.api_key)
    expect(409, client.send("DELETE", f"{listed}/{key.prefix}"))
    other = keys.find(expect(201, client.post(f"{listed}/rotate", {"overlapHours": 1}))["apiKey"])
    expect(200, client.send("DELETE", f"{listed}/{other.prefix}"))
    while len(expect(200, client.get(listed))["items"]) < keys.MAX_KEYS:
        keys.issue(partner=key.partner)
    expect(409, client.post(f"{listed}/rotate", {"overlapHours": 1}))
