"""Idempotency: contract, section 4, and the one-use signature of section 3."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from django.db.models import F

from partners.models import IdempotencyRecord, Partner, UsedSignature
from tests import factories
from tests.support.client import PartnerClient, Response, in_process
from tests.support.responses import assert_error, failing_fields
from users.models import User, UserEvent

KEY = "3f1c2b7e-8d4a-4c55-9b1e-6a7f0e2d9c10"
REPLAYED = "Idempotent-Replayed"


@pytest.fixture
def ada(create_user: Callable[..., Response]) -> str:
    create_user(externalId="ada")
    return "/v1/users/ada"


def remaining(response: Response) -> int:
    match = re.search(r"r=(\d+)", response.header("RateLimit") or "")
    assert match is not None
    return int(match[1])


def test_a_repeated_create_is_answered_with_the_first_answer(api: PartnerClient) -> None:
    body = factories.user_body(externalId="é")
    first, second = api.post("/v1/users", body, key=KEY), api.post("/v1/users", body, key=KEY)
    assert (first.status, first.header(REPLAYED)) == (201, None)
    assert (second.status, second.header(REPLAYED)) == (201, "true")
    assert second.body == first.body
    assert second.header("Location") == first.header("Location") == "/v1/users/%C3%A9"
    assert User.objects.count() == 1


def test_a_repeated_update_is_answered_with_the_first_answer(api: PartnerClient, ada: str) -> None:
    first = api.patch(ada, {"city": "Ottawa"}, key=KEY)
    api.patch(ada, {"city": "Montréal"})
    second = api.patch(ada, {"city": "Ottawa"}, key=KEY)
    assert (second.status, second.body, second.header(REPLAYED)) == (200, first.body, "true")
    assert User.objects.get().city == "Montréal"


def test_a_repeated_update_may_be_the_same_signed_request(api: PartnerClient, ada: str) -> None:
    headers = api.headers("PATCH", ada, b"{}", key=KEY, timestamp=None, secret=None)
    responses = [in_process("PATCH", ada, headers, b"{}") for _ in range(3)]
    assert [response.header(REPLAYED) for response in responses] == [None, "true", "true"]


def test_an_answer_is_replayed_whatever_has_become_of_the_user(api: PartnerClient) -> None:
    body = factories.user_body(externalId="ada")
    first = api.post("/v1/users", body, key=KEY)
    api.patch("/v1/users/ada", {"city": "Ottawa"})
    assert api.post("/v1/users", body, key=KEY).body == first.body
    assert assert_error(api.post("/v1/users", body), 409)["error"] == "conflict"


def test_the_letter_case_of_a_key_does_not_matter(api: PartnerClient) -> None:
    body = factories.user_body()
    api.post("/v1/users", body, key=KEY)
    assert api.post("/v1/users", body, key=KEY.upper()).header(REPLAYED) == "true"


def test_a_key_is_the_partners_whichever_api_key_signed(api: PartnerClient, partner: Partner) -> None:
    body = factories.user_body()
    api.post("/v1/users", body, key=KEY)
    assert factories.client_of(partner, in_process).post("/v1/users", body, key=KEY).header(REPLAYED) == "true"


def test_another_partners_key_is_another_key(api: PartnerClient, other_api: PartnerClient) -> None:
    body = factories.user_body()
    first = api.post("/v1/users", body, key=KEY)
    second = other_api.post("/v1/users", body, key=KEY)
    assert (second.status, second.header(REPLAYED)) == (201, None)
    assert second.json()["userId"] != first.json()["userId"]


OTHER_REQUESTS = {
    "method and path": ("POST", "/v1/users", b"{}"),
    "path": ("PATCH", "/v1/users/bob", b"{}"),
    "path of no user": ("PATCH", "/v1/users/nobody", b"{}"),
    "malformed externalId": ("PATCH", "/v1/users/%07", b"{}"),
    "query": ("PATCH", "/v1/users/ada?a=1", b"{}"),
    "white space of the body": ("PATCH", "/v1/users/ada", b"{ }"),
    "malformed body": ("PATCH", "/v1/users/ada", b"{"),
    "minor": ("PATCH", "/v1/users/ada", b'{"dateOfBirth": "2020-01-01"}'),
}


def test_a_key_used_for_another_request_is_refused(
    api: PartnerClient, ada: str, create_user: Callable[..., Response]
) -> None:
    create_user(externalId="bob")
    assert api.patch(ada, b"{}", key=KEY).status == 200
    for name, request in OTHER_REQUESTS.items():
        assert failing_fields(api.send(*request, key=KEY)) == ["Idempotency-Key"], name


def test_the_same_request_in_another_encoding_is_the_same(api: PartnerClient, ada: str) -> None:
    api.patch(f"{ada}?a=1&b=%20", b"{}", key=KEY)
    assert api.patch("/v1/users/%61da?b=+&a=%31", b"{}", key=KEY).header(REPLAYED) == "true"


NO_UUIDS = (
    *("", "key", "1", KEY.replace("-", ""), f"{{{KEY}}}", f"urn:uuid:{KEY}", KEY[:-1], f"{KEY}0", f" {KEY}", f"{KEY} "),
    *(f"{KEY},{KEY}", KEY.replace("-", "–"), KEY.replace("3", "g"), KEY.replace("3", "٣")),
    "3f1c2b7e8-d4a-4c55-9b1e-6a7f0e2d9c10",
)


def test_a_key_that_is_not_a_uuid_of_36_characters_is_refused(api: PartnerClient, ada: str) -> None:
    for (method, target), key in product((("POST", "/v1/users"), ("PATCH", ada)), NO_UUIDS):
        response = api.send(method, target, factories.user_body(externalId="bob"), key=key)
        assert failing_fields(response) == ["Idempotency-Key"], (method, key)
    assert not User.objects.filter(external_id="bob").exists()


@pytest.mark.parametrize("version", ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"])
def test_a_uuid_of_any_version_is_a_key(api: PartnerClient, version: str) -> None:
    assert api.post("/v1/users", factories.user_body(), key=version).status == 201


def test_a_failed_create_may_be_tried_again_with_its_key(api: PartnerClient) -> None:
    body = factories.user_body(externalId="ada")
    assert_error(api.post("/v1/users", body | {"email": "nobody"}, key=KEY), 400)
    assert_error(api.post("/v1/users", body | {"dateOfBirth": "2020-01-01"}, key=KEY), 422)
    assert not IdempotencyRecord.objects.exists()
    response = api.post("/v1/users", body, key=KEY)
    assert (response.status, response.header(REPLAYED)) == (201, None)


def test_a_conflict_is_not_remembered(api: PartnerClient, ada: str) -> None:
    assert_error(api.post("/v1/users", factories.user_body(externalId="ada"), key=KEY), 409)
    assert api.post("/v1/users", factories.user_body(externalId="bob"), key=KEY).status == 201


def test_a_failed_update_may_be_tried_again_with_its_key(
    api: PartnerClient, create_user: Callable[..., Response]
) -> None:
    assert_error(api.patch("/v1/users/ada", {"city": "Ottawa"}, key=KEY), 404)
    create_user(externalId="ada")
    assert api.patch("/v1/users/ada", {"city": "Ottawa"}, key=KEY).header(REPLAYED) is None


@pytest.mark.parametrize(
    ("age", "status"),
    [(timedelta(hours=24, seconds=1), 201), (timedelta(days=30), 201), (timedelta(hours=23, minutes=59), 400)],
    ids=["24 hours", "30 days", "a minute less"],
)
def test_after_24_hours_a_key_is_free_again(api: PartnerClient, age: timedelta, status: int) -> None:
    api.post("/v1/users", factories.user_body(externalId="ada"), key=KEY)
    IdempotencyRecord.objects.update(completed_at=F("completed_at") - age)
    body = factories.user_body(externalId="bob")
    response = api.post("/v1/users", body, key=KEY)
    assert (response.status, response.header(REPLAYED)) == (status, None)
    if status == 201:
        again = api.post("/v1/users", body, key=KEY)
        assert (again.body, again.header(REPLAYED)) == (response.body, "true")
        assert again.header("Location") == "/v1/users/bob"


def test_the_window_begins_with_the_first_request(api: PartnerClient, ada: str) -> None:
    api.patch(ada, b"{}", key=KEY)
    IdempotencyRecord.objects.update(completed_at=F("completed_at") - timedelta(hours=23))
    begun = IdempotencyRecord.objects.get().completed_at
    assert api.patch(ada, b"{}", key=KEY).header(REPLAYED) == "true"
    assert IdempotencyRecord.objects.get().completed_at == begun


def test_an_expired_key_whose_new_request_fails_stays_free(api: PartnerClient, ada: str) -> None:
    api.patch(ada, {"city": "Ottawa"}, key=KEY)
    IdempotencyRecord.objects.update(completed_at=F("completed_at") - timedelta(hours=25))
    assert_error(api.patch(ada, {"city": ""}, key=KEY), 400)
    assert api.patch(ada, {"city": "Ottawa"}, key=KEY).header(REPLAYED) is None


def test_a_replay_precedes_the_look_for_the_user(api: PartnerClient, ada: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = api.patch(ada, {"city": "Ottawa"}, key=KEY)
    monkeypatch.setattr("users.queries.lock", lambda *_, **__: None)
    assert api.patch(ada, {"city": "Ottawa"}, key=KEY).body == first.body
    assert_error(api.patch(ada, {"city": "Ottawa"}), 404)


def test_a_replay_counts_against_the_rate_limit(api: PartnerClient, ada: str, partner: Partner) -> None:
    Partner.objects.filter(pk=partner.pk).update(rate_limit="3/hour")
    responses = [api.patch(ada, b"{}", key=KEY) for _ in range(4)]
    found = [(response.status, remaining(response)) for response in responses]
    assert found == [(200, 2), (200, 1), (200, 0), (429, 0)]


def test_a_replay_wants_the_media_type_too(api: PartnerClient, ada: str) -> None:
    api.patch(ada, b"{}", key=KEY)
    assert failing_fields(api.patch(ada, b"{}", key=KEY, headers={"Content-Type": "text/plain"}), 415) == []


def test_a_repeated_create_without_a_key_is_a_conflict(api: PartnerClient) -> None:
    body = factories.user_body()
    assert [api.post("/v1/users", body).status for _ in range(2)] == [201, 409]


def signed_update(api: PartnerClient, target: str, body: bytes) -> Callable[..., Response]:
    """One signed update, to be sent as often as one likes."""
    headers = api.headers("PATCH", target, body, key=None, timestamp=None, secret=None)

    def send(target: str = target, change: Callable[[str], str] = str) -> Response:
        return in_process(
            "PATCH", target, headers | {"X-Request-Signature": change(headers["X-Request-Signature"])}, body
        )

    return send


@pytest.mark.parametrize("body", [b'{"city": "Ottawa"}', b"{}"], ids=["change", "no change"])
def test_a_signed_update_without_a_key_takes_effect_once(api: PartnerClient, ada: str, body: bytes) -> None:
    send = signed_update(api, ada, body)
    assert send().status == 200
    events = UserEvent.objects.count()
    response = send()
    assert "Sign a new request" in assert_error(response, 401)["message"]
    assert response.header("WWW-Authenticate") == 'HMAC-SHA256 realm="partner-service"'
    assert UserEvent.objects.count() == events


def test_a_used_signature_is_used_however_it_is_written(api: PartnerClient, ada: str) -> None:
    send = signed_update(api, ada, b"{}")
    assert send().status == 200
    written: list[tuple[str, Callable[[str], str]]] = [(ada, str.upper), ("/v1/users/%61da", str), (f"{ada}?&", str)]
    for target, change in written:
        assert_error(send(target, change), 401)


def test_a_failed_update_may_be_sent_again_as_signed(api: PartnerClient, create_user: Callable[..., Response]) -> None:
    send = signed_update(api, "/v1/users/ada", b'{"city": "Ottawa"}')
    assert send().status == 404
    assert not UsedSignature.objects.exists()
    create_user(externalId="ada")
    assert [send().status for _ in range(2)] == [200, 401]


def test_a_used_signature_counts_against_the_rate_limit(api: PartnerClient, ada: str) -> None:
    send = signed_update(api, ada, b"{}")
    first, second = send(), send()
    assert second.status == 401
    assert remaining(second) == remaining(first) - 1


def test_the_media_type_is_checked_before_the_signature_is_used_up(api: PartnerClient, ada: str) -> None:
    headers = api.headers("PATCH", ada, b"{}", key=None, timestamp=None, secret=None)
    assert failing_fields(in_process("PATCH", ada, headers | {"Content-Type": "text/plain"}, b"{}"), 415) == []
    assert in_process("PATCH", ada, headers, b"{}").status == 200


def test_the_same_update_with_a_new_signature_takes_effect(api: PartnerClient, ada: str) -> None:
    assert [api.patch(ada, {"city": city}).status for city in ("Ottawa", "Toronto", "Ottawa")] == [200, 200, 200]


def test_a_signature_is_kept_with_the_time_it_was_signed_at(api: PartnerClient, ada: str) -> None:
    headers = api.headers("PATCH", ada, b"{}", key=None, timestamp=None, secret=None)
    in_process("PATCH", ada, headers, b"{}")
    kept = UsedSignature.objects.get()
    assert bytes(kept.signature).hex() == headers["X-Request-Signature"]
    assert kept.signed_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ") == headers["X-Request-Timestamp"]


def test_an_update_with_a_key_uses_up_no_signature(api: PartnerClient, ada: str) -> None:
    api.patch(ada, b"{}", key=str(uuid4()))
    assert not UsedSignature.objects.exists()


# GET /v1/idempotency-keys/{key} says whether a write has happened: contract, section 12


PATH = f"/v1/idempotency-keys/{KEY}"


def found(api: PartnerClient, path: str = PATH) -> dict[str, Any]:
    """What is said of the key, but for its times: it expires a day after its write."""
    body: dict[str, Any] = api.get(path).json()
    completed, expires = (datetime.fromisoformat(body.pop(name)) for name in ("completedAt", "expiresAt"))
    assert timedelta(hours=23, minutes=55) < expires - completed <= timedelta(hours=24)
    return body


def test_a_write_that_has_happened_is_found(api: PartnerClient) -> None:
    api.post("/v1/users", factories.user_body(externalId="ada"), key=KEY)
    assert found(api) == {"idempotencyKey": KEY, "method": "POST", "path": "/v1/users", "status": 201}


def test_the_path_is_the_canonical_one(api: PartnerClient) -> None:
    api.post("/v1/users", factories.user_body(externalId="Zoë & co"))
    api.patch("/v1/users/Zo%c3%ab%20%26%20co", {"city": "Ottawa"}, key=KEY)
    written = {"method": "PATCH", "path": "/v1/users/Zo%C3%AB%20%26%20co", "status": 200}
    assert found(api, PATH.replace(KEY, KEY.upper())) == {"idempotencyKey": KEY, **written}


def test_an_unused_key_is_not_found_and_stays_unused(api: PartnerClient) -> None:
    assert_error(api.get(PATH), 404)
    # Nor is that of a write that failed.
    api.post("/v1/users", factories.user_body(email="nobody"), key=KEY)
    assert_error(api.get(PATH), 404)
    assert not IdempotencyRecord.objects.exists()
    assert api.post("/v1/users", factories.user_body(), key=KEY).header("Idempotent-Replayed") is None


def test_an_expired_key_is_not_found_and_keeps_its_record_until_it_is_used_again(api: PartnerClient) -> None:
    api.post("/v1/users", factories.user_body(externalId="ada"), key=KEY)
    IdempotencyRecord.objects.update(completed_at=F("completed_at") - timedelta(hours=25))
    assert_error(api.get(PATH), 404)
    assert IdempotencyRecord.objects.get().status == 201
    api.patch("/v1/users/ada", {"city": "Ottawa"}, key=KEY)
    assert found(api) == {"idempotencyKey": KEY, "method": "PATCH", "path": "/v1/users/ada", "status": 200}


def test_another_partner_s_key_is_not_found(api: PartnerClient, other_api: PartnerClient) -> None:
    api.post("/v1/users", factories.user_body(), key=KEY)
    assert_error(other_api.get(PATH), 404)


def test_a_key_that_is_no_uuid_is_refused(api: PartnerClient) -> None:
    for text in ("1", KEY[:-1], KEY.replace("-", ""), f"{KEY}x"):
        assert failing_fields(api.get(f"/v1/idempotency-keys/{text}")) == ["idempotencyKey"]
