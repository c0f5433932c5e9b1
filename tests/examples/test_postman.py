"""The Postman collection: an item for each operation, and a script that signs as the vectors say."""

import json
from typing import Any

from portal import openapi
from portal.reference import postman
from tests.examples.languages import NODE, Workshop
from tests.examples.published import API_KEY, SECRET, VECTORS

COLLECTION = json.loads(postman.collection_bytes("https://partners.example"))
REQUESTS: list[dict[str, Any]] = [one["request"] for folder in COLLECTION["item"] for one in folder["item"]]


def test_it_is_of_format_2_1_and_holds_nothing_secret() -> None:
    assert COLLECTION["info"]["schema"].endswith("/collection/v2.1.0/collection.json")
    values = {one["key"]: one["value"] for one in COLLECTION["variable"]}
    assert values == {"baseUrl": "https://partners.example", "apiKey": "", "secret": ""}


def test_every_operation_is_an_item_with_its_parameters() -> None:
    described = {
        (method.upper(), path): operation
        for path, methods in openapi.document()["paths"].items()
        for method, operation in methods.items()
    }
    assert len(REQUESTS) == len(described)
    for request in REQUESTS:
        path = "/" + "/".join(
            f"{{{part.removeprefix(':')}}}" if part.startswith(":") else part for part in request["url"]["path"]
        )
        operation = described[request["method"], path]
        held = [*request["url"]["query"], *request["url"]["variable"], *request["header"]]
        parameters = [openapi.resolve(openapi.document(), one) for one in operation["parameters"]]
        assert {one["name"] for one in parameters} <= {one["key"] for one in held}
        # A failure is simulated only if its header is switched on.
        assert {one["key"]: one.get("disabled") for one in request["header"]}["X-Sandbox-Fault"]
        assert ("body" in request) is ("requestBody" in operation)


def test_a_first_call_sends_what_is_required_and_what_has_a_default() -> None:
    request = next(one for one in REQUESTS if one["method"] == "GET" and one["url"]["path"][-1] == "transactions")
    assert {one["key"]: one["disabled"] for one in request["url"]["query"]} == {"cursor": True, "limit": False}
    assert request["url"]["raw"] == "{{baseUrl}}/v1/users/:externalId/transactions?limit=25"


def test_each_write_has_an_idempotency_key_of_its_own() -> None:
    for request in REQUESTS:
        keys = [one for one in request["header"] if one["key"] == "Idempotency-Key"]
        # A response with a secret is not stored, and a test of a webhook sends once more.
        is_without = request["url"]["path"][1:3] in (["sandbox", "webhooks"], ["sandbox", "api-keys"])
        takes_one = "body" in request and not is_without
        assert [(one["value"], one["disabled"]) for one in keys] == [("{{$guid}}", False)] * takes_one


def test_the_script_signs_every_vector(place: Workshop) -> None:
    script = "\n".join(COLLECTION["event"][0]["script"]["exec"])
    # The script signs the body of a write only, because Postman sends no other one.
    vectors = [one for one in VECTORS if one["body"] == "" or one["method"] in {"POST", "PATCH"}]
    given = json.dumps({"script": script, "apiKey": API_KEY, "secret": SECRET, "vectors": vectors})
    done = place.built(NODE).run(("node", "postman.mjs"), given=given.encode())
    assert done.stderr == b""
    for vector, headers in zip(vectors, json.loads(done.stdout), strict=True):
        assert headers["X-Request-Signature"] == vector["signature"], vector["id"]
        assert headers["X-Request-Timestamp"] == vector["timestamp"]
        assert headers["X-Api-Key"] == API_KEY
        assert headers.get("Idempotency-Key", "") == vector["idempotencyKey"]
    assert len(vectors) > 30
