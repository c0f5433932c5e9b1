"""The scripts of the Postman page: they sign as the vectors say, and what ends a key is not sent unless allowed."""

import json
from typing import Any

from portal.reference import postman
from tests.examples.languages import NODE, Workshop
from tests.examples.published import API_KEY, SECRET, VECTORS
from tests.portal.reading import read

KEY = "7f8d2c1a-3b4e-4f5a-8c6d-9e0f1a2b3c4d"
CREDENTIALS = {"apiKey": API_KEY, "secret": SECRET}


def request(method: str = "GET", path: str = "/v1/ping", **more: Any) -> dict[str, Any]:
    made = {"method": method, "path": path, "query": "", "body": "", "headers": {}, "pathVariables": []}
    made |= {"timestamp": "2026-01-15T10:30:00Z", "guid": KEY, "response": {}}
    return made | more | {"variables": CREDENTIALS | more.get("variables", {})}


def sent(place: Workshop, *requests: dict[str, Any]) -> list[Any]:
    """What becomes of each request; None of one that is not sent."""
    given = {"sign": postman.SIGN.read_text(), "remember": postman.REMEMBER.read_text(), "requests": requests}
    done = place.built(NODE).run(("node", "postman.mjs"), given=json.dumps(given).encode())
    assert done.stderr == b""
    found: list[Any] = json.loads(done.stdout)
    return found


def test_the_page_has_both_scripts_and_the_address() -> None:
    page = read("/docs/postman")
    assert {postman.SIGN.read_text().strip(), postman.REMEMBER.read_text().strip()} <= {
        one.strip() for one in page.code
    }
    assert "http://testserver/openapi.json" in page.text


def test_the_script_signs_every_vector(place: Workshop) -> None:
    # The script signs the body of a write only, because Postman sends no other one.
    vectors = [one for one in VECTORS if one["body"] == "" or one["method"] in {"POST", "PATCH"}]
    requests = [
        request(
            *(vector["method"], vector["path"]),
            query=vector["query"],
            body=vector["body"],
            timestamp=vector["timestamp"],
            headers={"Idempotency-Key": "the example"} if vector["idempotencyKey"] else {},
            guid=vector["idempotencyKey"],
        )
        for vector in vectors
    ]
    for vector, done in zip(vectors, sent(place, *requests), strict=True):
        assert done["headers"]["X-Request-Signature"] == vector["signature"], vector["id"]
        assert done["headers"]["X-Request-Timestamp"] == vector["timestamp"]
        assert done["headers"]["X-Api-Key"] == API_KEY
        assert done["headers"].get("Idempotency-Key", "") == vector["idempotencyKey"]
    assert len(vectors) > 30


def test_what_ends_a_key_or_a_secret_is_not_sent_unless_allowed(place: Workshop) -> None:
    guarded = [
        ("POST", "/v1/sandbox/api-keys/rotate"),
        ("DELETE", "/v1/sandbox/api-keys/psi_test_key_BBBBBBBB"),
        ("POST", "/v1/sandbox/webhooks/7/rotate-secret"),
    ]
    assert sent(place, *(request(*one) for one in guarded)) == [None, None, None]
    allowed = sent(place, *(request(*one, variables={"allowRotation": "true"}) for one in guarded))
    assert None not in allowed


def test_ids_of_a_response_are_put_into_later_paths(place: Workshop) -> None:
    response = {"items": [{"externalId": "a b", "requirements": [{"requirementId": "r1"}]}, {"externalId": "c"}]}
    [first] = sent(place, request(response=response))
    assert first["kept"] == CREDENTIALS | {"externalId": "a b", "requirementId": "r1"}
    [later] = sent(place, request(variables=first["kept"], pathVariables=["externalId", "documentId"]))
    assert later["path"] == {"externalId": "a%20b", "documentId": "<string>"}


def test_a_write_has_a_key_of_its_own_or_that_of_an_earlier_one(place: Workshop) -> None:
    headers = {"Idempotency-Key": "the example"}
    own, again, without = sent(
        place,
        request("POST", headers=headers),
        request("POST", headers=headers, variables={"retryKey": "earlier"}),
        request("POST"),
    )
    assert own["headers"]["Idempotency-Key"] == own["kept"]["idempotencyKey"] == KEY
    assert again["headers"]["Idempotency-Key"] == "earlier"
    assert "Idempotency-Key" not in without["headers"]


def test_a_failure_is_simulated_only_if_asked_for(place: Workshop) -> None:
    headers = {"X-Sandbox-Fault": "the example"}
    usual, failing = sent(place, request(headers=headers), request(headers=headers, variables={"fault": "conflict"}))
    assert "X-Sandbox-Fault" not in usual["headers"]
    assert failing["headers"]["X-Sandbox-Fault"] == "conflict"
