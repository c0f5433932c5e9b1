"""GET /v1/idempotency-keys/{key} says whether a write has happened: contract, section 12."""

import uuid
from datetime import datetime, timedelta

from django.db.models import F

from partners.models import IdempotencyRecord
from tests import factories
from tests.support.client import PartnerClient
from tests.support.responses import assert_error, failing_fields

KEY = "7f8d2c1a-3b4e-4f5a-8c6d-9e0f1a2b3c4d"
PATH = f"/v1/idempotency-keys/{KEY}"


def test_a_write_that_has_happened_is_found(api: PartnerClient) -> None:
    api.post("/v1/users", factories.user_body(externalId="ada"), key=KEY)

    response = api.get(PATH)
    assert response.status == 200
    body = response.json()
    completed, expires = (datetime.fromisoformat(body.pop(name)) for name in ("completedAt", "expiresAt"))
    assert body == {"idempotencyKey": KEY, "method": "POST", "path": "/v1/users", "status": 201}
    assert timedelta(hours=23, minutes=55) < expires - completed <= timedelta(hours=24)


def test_the_path_is_the_canonical_one(api: PartnerClient) -> None:
    api.post("/v1/users", factories.user_body(externalId="Zoë & co"))
    api.patch("/v1/users/Zo%c3%ab%20%26%20co", {"city": "Ottawa"}, key=KEY)

    body = api.get(PATH.upper().replace("/V1/IDEMPOTENCY-KEYS", "/v1/idempotency-keys")).json()
    assert (body["method"], body["path"], body["status"]) == ("PATCH", "/v1/users/Zo%C3%AB%20%26%20co", 200)
    assert body["idempotencyKey"] == KEY


def test_an_unused_key_is_not_found_and_stays_unused(api: PartnerClient) -> None:
    assert_error(api.get(PATH), 404)

    assert not IdempotencyRecord.objects.exists()
    assert api.post("/v1/users", factories.user_body(), key=KEY).header("Idempotent-Replayed") is None


def test_a_write_that_failed_is_not_found(api: PartnerClient) -> None:
    api.post("/v1/users", factories.user_body(email="nobody"), key=KEY)

    assert_error(api.get(PATH), 404)


def test_an_expired_key_is_not_found_and_keeps_its_record(api: PartnerClient) -> None:
    api.post("/v1/users", factories.user_body(), key=KEY)
    IdempotencyRecord.objects.update(completed_at=F("completed_at") - timedelta(hours=25))

    assert_error(api.get(PATH), 404)
    assert IdempotencyRecord.objects.get().status == 201


def test_another_partner_s_key_is_not_found(api: PartnerClient, other_api: PartnerClient) -> None:
    api.post("/v1/users", factories.user_body(), key=KEY)

    assert_error(other_api.get(PATH), 404)


def test_a_key_that_is_no_uuid_is_refused(api: PartnerClient) -> None:
    for text in ("1", KEY[:-1], KEY.replace("-", ""), f"{uuid.uuid4()}x"):
        assert failing_fields(api.get(f"/v1/idempotency-keys/{text}")) == ["idempotencyKey"]


def test_an_expired_key_that_is_used_again_is_the_new_write(api: PartnerClient) -> None:
    api.post("/v1/users", factories.user_body(externalId="ada"), key=KEY)
    earlier = timedelta(hours=25)
    IdempotencyRecord.objects.update(completed_at=F("completed_at") - earlier)
    api.patch("/v1/users/ada", {"city": "Ottawa"}, key=KEY)

    body = api.get(PATH).json()
    assert (body["method"], body["path"], body["status"]) == ("PATCH", "/v1/users/ada", 200)
    completed, expires = (datetime.fromisoformat(body[name]) for name in ("completedAt", "expiresAt"))
    assert timedelta(hours=23, minutes=55) < expires - completed <= timedelta(hours=24)
