"""`send` and `send_async` of the packages' modules, against a live service and a gateway that fails."""

import json
import socket
import uuid
from itertools import pairwise
from typing import Any

import pytest

from partners.models import Partner
from tests import factories
from tests.examples.calling import MODULES, DrivenClient, call, send
from tests.examples.gateway import Gateway
from tests.support.client import Response
from tests.support.documents import add_document
from users.models import User, UserEvent

pytestmark = pytest.mark.parametrize("language", MODULES, ids=str)
CHANGES = {"city": "Ottawa", "postalCode": "K1P 5W1"}
PING = send("GET", "/v1/ping")


def test_users_are_created_changed_read_and_listed(driven: DrivenClient, committed_partner: Partner) -> None:
    body, key = factories.user_body(externalId="zoë +1", firstName="Zoë"), str(uuid.uuid4())
    path, changes = "/v1/users/zo%C3%AB%20%2B1", {"city": "Montréal", "province": "QC", "postalCode": "H2Y 1C6"}
    ping, created, again, write, changed, read, built, *lists, none = driven.results(
        PING,
        send("POST", "/v1/users", body, idempotencyKey=key),
        send("post", "/v1/users", body, headers={"Idempotency-Key": key}),
        call("findWrite", key.upper()),
        send("patch", path, body=json.dumps(changes)),
        send("GET", path),
        call("path", "users", "zoë +1"),
        call("items", "/v1/users"),
        call("items", "/v1/users", query={"status": "active"}),
        call("findWrite", str(uuid.uuid4())),
    )
    assert (ping["partner"], built) == (committed_partner.slug, path)
    assert created == again
    assert (write["method"], write["path"], write["status"]) == ("POST", "/v1/users", 201)
    assert changed == read
    assert [[one["externalId"] for one in users] for users in lists] == [["zoë +1"], []]
    assert none is None
    assert committed_partner.users.get(external_id="zoë +1").city == "Montréal"


def test_a_file_is_read_byte_for_byte(through: DrivenClient, gateway: Gateway, user: User) -> None:
    content = b"%PDF-1.7\n" + bytes(range(256)) * 1000 + b"\n\n"
    document = add_document(user, content)
    # A file that is cut on the way is requested again.
    gateway.faults = ["cut"]
    [file] = through.outcomes(send("GET", f"/v1/users/{user.external_id}/documents/{document.document_id}"))
    assert (bytes.fromhex(file["result"]["hex"]), len(gateway.seen)) == (content, 2)


def test_what_nobody_can_send_is_refused_without_a_request(through: DrivenClient, gateway: Gateway) -> None:
    wrong = [
        *(send("GET", "/v1/users/caf%E9"), send("GET", "https://elsewhere.example/v1/ping")),
        *(send("GET", "/gateway/v1/ping"), call("path", "users", ""), call("path", "users", "..")),
        *(call("findWrite", ""), call("findWrite", "../users")),
    ]
    raised = {one.get("raised") for one in through.outcomes(*wrong)}
    assert raised <= {"UnicodeDecodeError", "ValueError", "URIError", "TypeError"}
    assert gateway.seen == []


# Errors


def test_an_error_has_its_parts(driven: DrivenClient, user: User) -> None:
    path = f"/v1/users/{user.external_id}"
    invalid, conflict, missing, minor = driven.outcomes(
        send("PATCH", path, {"email": "nobody", "nickname": "Ada"}),
        send("POST", "/v1/users", factories.user_body(externalId=user.external_id)),
        send("GET", "/v1/users/nobody"),
        send("PATCH", path, {"dateOfBirth": "2020-01-01"}),
    )
    assert [(one["status"], one["error"], one["raised"]) for one in (invalid, conflict, missing, minor)] == [
        (400, "bad_request", "ApiError"),
        (409, "conflict", "ApiError"),
        (404, "not_found", "ApiError"),
        (422, "unprocessable_entity", "ApiError"),
    ]
    assert [(one["field"], one["code"]) for one in invalid["fieldErrors"]] == [
        ("email", "format"),
        ("nickname", "unknown"),
    ]
    assert "nickname: Unknown field." in invalid["text"]
    assert missing["reason"] == "User not found."
    assert uuid.UUID(missing["requestId"])
    assert missing["requestId"] in missing["text"]
    assert not missing["isTemporary"]


def test_the_response_of_another_program_is_an_error_too(through: DrivenClient, gateway: Gateway) -> None:
    bodies = [
        b"",
        b"<html>",
        b"\xff",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"error": null, "message": 7, "requestId": {}, "fieldErrors": null, "diagnosis": "Clock."}',
        b'{"fieldErrors": [null, "city", []], "diagnosis": []}',
    ]
    responses = iter([Response(403, {"Content-Length": str(len(body))}, body) for body in bodies])
    gateway.service = lambda *_: next(responses)
    for outcome in through.outcomes(*[PING] * len(bodies)):
        assert (outcome["raised"], outcome["status"], outcome["fieldErrors"]) == ("ApiError", 403, [])
        assert outcome["text"] == "403: The response is not the service's."


def test_a_diagnosis_is_shown(through: DrivenClient, gateway: Gateway) -> None:
    body = b'{"message": "No.", "fieldErrors": [{"field": "a", "message": "b"}], "diagnosis": {"message": "Clock."}}'
    gateway.service = lambda *_: Response(401, {"Content-Length": str(len(body))}, body)
    [outcome] = through.outcomes(PING)
    assert outcome["text"].endswith("No. a: b Clock.")


def test_a_success_that_is_not_the_services_is_a_lost_response(
    through: DrivenClient, gateway: Gateway, user: User
) -> None:
    service, damaged = gateway.service, [b"null", b"[]", b"<html>", b""]

    def respond(*request: Any) -> Response:
        return Response(200, {"Content-Length": str(len(damaged[-1]))}, damaged.pop()) if damaged else service(*request)

    gateway.service = respond
    path = f"/v1/users/{user.external_id}"
    lost, changed = through.outcomes(send("PATCH", path, CHANGES, attempts=1), send("PATCH", path, CHANGES))
    assert (lost["raised"], lost["isTemporary"], changed["result"]["status"]) == ("NoResponseError", True, 200)
    assert len({headers["idempotency-key"] for headers in gateway.seen[1:]}) == 1
    assert len(gateway.seen) == 5


def test_only_the_services_own_not_found_says_that_a_write_has_not_happened(
    through: DrivenClient, gateway: Gateway
) -> None:
    own = json.dumps({"error": "not_found", "message": "No.", "requestId": "a"}).encode()
    others = [
        Response(404, {"Content-Length": "0", "X-Request-Id": "a"}, b""),
        Response(404, {"Content-Length": "23", "X-Request-Id": "a"}, b'{"error": "not_found"}\n'),
        Response(404, {"Content-Length": str(len(own)), "X-Request-Id": "b"}, own),
        Response(404, {"Content-Length": str(len(own))}, own),
        Response(403, {"Content-Length": str(len(own)), "X-Request-Id": "a"}, own),
    ]
    gateway.service = lambda *_: others[len(gateway.seen) - 1]
    outcomes = through.outcomes(*[call("findWrite", str(uuid.uuid4()))] * len(others))
    assert [one.get("raised") for one in outcomes] == ["ApiError"] * len(others)


# Retries


@pytest.mark.parametrize("fault", ["lost", "cut"])
def test_a_write_whose_response_is_lost_takes_effect_once(
    through: DrivenClient, gateway: Gateway, user: User, fault: Any
) -> None:
    gateway.faults = [fault, fault]
    [changed] = through.outcomes(send("PATCH", f"/v1/users/{user.external_id}", CHANGES))
    keys = {headers["idempotency-key"] for headers in gateway.seen}
    assert (changed["result"]["status"], len(gateway.seen), len(keys)) == (200, 3, 1)
    assert changed["result"]["headers"]["idempotent-replayed"] == "true"
    assert len({headers["x-request-signature"] for headers in gateway.seen}) == 3
    cities = UserEvent.objects.filter(pgh_obj=user).order_by("pgh_id").values_list("city", flat=True)
    assert list(cities) == ["Toronto", "Ottawa"]


def test_a_temporary_failure_is_waited_out(through: DrivenClient, gateway: Gateway, user: User) -> None:
    gateway.faults, gateway.retry_after = [408, 429, 500, 503], 1
    through.results(send("PATCH", f"/v1/users/{user.external_id}", CHANGES))
    assert len(gateway.seen) == 5
    assert all(later - earlier >= 1 for earlier, later in pairwise(gateway.seen_at))


def test_attempts_are_bounded(through: DrivenClient, gateway: Gateway) -> None:
    gateway.faults, gateway.retry_after = [503] * 9, 0
    [outcome] = through.outcomes(send("GET", "/v1/ping", attempts=4))
    assert (outcome["status"], outcome["isTemporary"], len(gateway.seen)) == (503, True, 4)


def test_a_longer_retry_after_is_not_waited_for(through: DrivenClient, gateway: Gateway) -> None:
    gateway.faults, gateway.retry_after = [429, 429], 3600
    outcomes = through.outcomes(PING, send("GET", "/v1/ping", maxWaitMs=3_599_000))
    assert ([one["status"] for one in outcomes], len(gateway.seen)) == ([429, 429], 2)


@pytest.mark.parametrize("retry_after", ["9" * 5000, "Thu, 01 Jan 2026 00:00:00 GMT"])
def test_an_odd_retry_after_is_none(through: DrivenClient, gateway: Gateway, retry_after: str) -> None:
    gateway.faults, gateway.retry_after = [503], retry_after
    through.results(PING)
    assert len(gateway.seen) == 2


def test_what_cannot_succeed_or_has_no_key_is_not_retried(through: DrivenClient, gateway: Gateway, user: User) -> None:
    gateway.faults = [None, 302, "lost"]
    path = f"/v1/users/{user.external_id}"
    outcomes = through.outcomes(send("GET", "/v1/users/nobody"), PING, send("PATCH", path, CHANGES, idempotencyKey=""))
    assert [one.get("status") for one in outcomes] == [404, 302, None]
    assert (outcomes[2]["raised"], len(gateway.seen)) == ("NoResponseError", 3)
    assert "idempotency-key" not in gateway.seen[2]


def test_a_response_that_does_not_come_in_time_is_none(driven: DrivenClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = {"PSI_BASE_URL": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        [outcome] = driven.outcomes(send("GET", "/v1/ping", attempts=2), timeout_ms=300, settings=settings)
    assert (outcome["raised"], outcome["isTemporary"]) == ("NoResponseError", True)


def test_the_sandbox_rehearses_a_lost_response(sandbox: DrivenClient) -> None:
    key, fault = str(uuid.uuid4()), {"X-Sandbox-Fault": "lostAnswer"}
    body = factories.user_body(externalId="cust-1001")
    lost, write, again, limited = sandbox.outcomes(
        send("POST", "/v1/users", body, idempotencyKey=key, headers=fault, attempts=2),
        call("findWrite", key),
        send("POST", "/v1/users", body, idempotencyKey=key),
        send("GET", "/v1/ping", headers={"X-Sandbox-Fault": "tooManyRequests"}, attempts=2),
    )
    assert lost["raised"] == "NoResponseError"
    assert write["result"]["status"] == 201
    assert again["result"]["headers"]["idempotent-replayed"] == "true"
    assert (limited["status"], limited["isTemporary"]) == (429, True)
