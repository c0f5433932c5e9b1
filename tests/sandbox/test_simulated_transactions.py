"""What a sandbox partner simulates: contract, section 11."""

import errno
import itertools
import json
import os
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from core.formats import format_timestamp
from events.feed.relay import Relay
from events.models import OutboxEntry, WebhookEndpoint
from partners.api.idempotency import ALREADY_RECEIVED
from partners.models import ApiKey, Mode, Partner
from tests import factories
from tests.support.client import PartnerClient, now
from tests.support.responses import assert_error, codes, failing_fields
from transactions.models import Conversion, Document
from users.models import StatusChange, User

USER = "/v1/users/ada"
STATUS, TRANSACTIONS, DOCUMENTS = (f"/v1/sandbox/users/ada/{name}" for name in ("status", "transactions", "documents"))
ITEM = {
    "from": {"currency": "CAD", "amount": "100.00"},
    "to": {"currency": "USD", "amount": "71.50"},
    "rate": "0.715",
}
BODIES = {
    STATUS: {"status": "active"},
    TRANSACTIONS: {"items": [ITEM]},
    DOCUMENTS: {"type": "taxSlip", "title": "T5"},
}


@pytest.fixture
def sandbox(sandbox: PartnerClient) -> PartnerClient:
    assert sandbox.post("/v1/users", factories.user_body(externalId="ada")).status == 201
    return sandbox


def events(client: PartnerClient) -> list[dict[str, Any]]:
    """The partner's feed."""
    Relay().assign_positions()
    found: list[dict[str, Any]] = client.get("/v1/events").json()["items"]
    return found


def test_keys_and_ping_tell_the_mode(sandbox: PartnerClient, api: PartnerClient) -> None:
    assert sandbox.api_key.startswith("psi_test_key_")
    assert sandbox.secret.startswith("psi_test_secret_")
    assert [client.get("/v1/ping").json()["mode"] for client in (sandbox, api)] == ["sandbox", "live"]


def test_a_key_of_the_other_kind_cannot_be_stored(db: None) -> None:
    key = factories.ApiKeyFactory.create()
    key.pk, key.prefix, key.digest = None, "psi_test_key_12345678", bytes(32)

    with pytest.raises(Exception, match="not for this kind of partner"):
        key.save(force_insert=True)


def test_the_mode_stays(partner: Partner) -> None:
    with pytest.raises(Exception, match=r"mode of a partner does not change|permission denied"):
        Partner.objects.filter(pk=partner.pk).update(mode=Mode.SANDBOX)


def test_a_decision_has_history_and_event(sandbox: PartnerClient) -> None:
    response = sandbox.post(STATUS, {"status": "active"})

    assert response.status == 200
    assert response.json() == sandbox.get(USER).json()
    change = StatusChange.objects.get()
    assert (change.from_status, change.to_status, change.by.username) == ("pendingCompliance", "active", "sandbox")
    assert [event["data"]["status"] for event in events(sandbox)] == ["active"]


def test_a_move_that_is_not_allowed_is_a_conflict(sandbox: PartnerClient) -> None:
    assert_error(sandbox.post(STATUS, {"status": "suspended"}), 409)
    assert codes(sandbox.post(STATUS, {"status": "unknown"})) == {"status": "notAllowed"}
    assert codes(sandbox.post(STATUS, {})) == {"status": "required"}
    assert_error(sandbox.post("/v1/sandbox/users/bob/status", {"status": "active"}), 404)
    assert not StatusChange.objects.exists()


def test_conversions_are_recorded_under_the_rules_of_an_import(sandbox: PartnerClient) -> None:
    late = ITEM | {"conversionId": "late-1", "createdAt": "2025-01-01T00:00:00Z"}
    response = sandbox.post(TRANSACTIONS, {"items": [ITEM, late]})

    assert response.status == 201
    first, second = response.json()["items"]
    assert second["conversionId"] == "late-1"
    assert second["createdAt"] == "2025-01-01T00:00:00.000000Z"
    assert (first["from"], first["to"], first["rate"]) == (ITEM["from"], ITEM["to"], ITEM["rate"])
    assert sandbox.get(f"{USER}/transactions").json()["items"] == [first, second]
    assert [event["data"]["count"] for event in events(sandbox)] == [2]


def test_a_conversion_without_a_time_is_the_one_that_is_there(sandbox: PartnerClient) -> None:
    item = ITEM | {"conversionId": "cv-1"}
    once, again = (sandbox.post(TRANSACTIONS, {"items": [item]}) for _ in range(2))
    assert (once.status, again.status, again.body) == (201, 201, once.body)
    # In one request too.
    timed = ITEM | {"conversionId": "cv-2", "createdAt": "2025-01-01T00:00:00Z"}
    first, second = sandbox.post(TRANSACTIONS, {"items": [timed, ITEM | {"conversionId": "cv-2"}]}).json()["items"]
    assert first == second


def test_a_time_may_have_any_number_of_zeros(sandbox: PartnerClient) -> None:
    timed = ITEM | {"createdAt": f"2025-01-01T00:00:00.{'0' * 65_300}Z"}
    response = sandbox.post(TRANSACTIONS, {"items": [timed]})
    assert response.status == 201
    assert response.json()["items"][0]["createdAt"] == "2025-01-01T00:00:00.000000Z"


def test_a_time_may_be_five_minutes_ahead_and_not_more(sandbox: PartnerClient) -> None:
    ahead = (format_timestamp(timezone.now() + timedelta(minutes=minutes)) for minutes in (4, 6))
    near, far = (ITEM | {"createdAt": created_at} for created_at in ahead)
    assert sandbox.post(TRANSACTIONS, {"items": [near]}).status == 201
    assert codes(sandbox.post(TRANSACTIONS, {"items": [near, far]})) == {"items[1].createdAt": "range"}


def test_a_signature_simulates_once(sandbox: PartnerClient) -> None:
    timestamp = now()
    for path, body in BODIES.items():
        once, again = (sandbox.post(path, body, timestamp=timestamp) for _ in range(2))
        assert once.status in {200, 201}, path
        assert assert_error(again, 401)["message"] == ALREADY_RECEIVED, path


def test_a_conversion_that_is_there_is_returned_as_it_is_or_a_conflict(sandbox: PartnerClient) -> None:
    item = ITEM | {"conversionId": "cv-1", "createdAt": "2025-01-01T00:00:00Z"}
    once = sandbox.post(TRANSACTIONS, {"items": [item]})

    assert sandbox.post(TRANSACTIONS, {"items": [item]}).body == once.body
    assert_error(sandbox.post(TRANSACTIONS, {"items": [ITEM, item | {"rate": "0.7150"}]}), 409)
    assert Conversion.objects.count() == 1


WRONG: tuple[tuple[Any, dict[str, str]], ...] = (
    (ITEM | {"rate": "0"}, {"items[0].rate": "range"}),
    (ITEM | {"rate": 1}, {"items[0].rate": "type"}),
    (ITEM | {"from": {"currency": "CAD", "amount": "1e3"}}, {"items[0].from.amount": "format"}),
    (ITEM | {"to": {"currency": "USD"}}, {"items[0].to.amount": "required"}),
    (ITEM | {"to": "USD"}, {"items[0].to": "type"}),
    (ITEM | {"createdAt": "yesterday"}, {"items[0].createdAt": "format"}),
    (ITEM | {"conversionId": "a b"}, {"items[0].conversionId": "format"}),
    (ITEM | {"type": "conversion"}, {"items[0].type": "unknown"}),
    (ITEM | {"createdAt": "9999-12-31T00:00:00Z"}, {"items[0].createdAt": "range"}),
    (ITEM | {"rate": "7" * 40_000}, {"items[0].rate": "length"}),
    (ITEM | {"conversionId": ""}, {"items[0].conversionId": "length"}),
    (ITEM | {"createdAt": ""}, {"items[0].createdAt": "length"}),
    (ITEM | {"conversionId": "\ud800"}, {"items[0].conversionId": "format"}),
    (
        {"from": {"currency": "cad", "amount": "-1", "more": 1}, "to": 7, "createdAt": "x", "conversionId": ""},
        {
            "items[0].rate": "required",
            "items[0].from.more": "unknown",
            "items[0].from.currency": "format",
            "items[0].from.amount": "format",
            "items[0].to": "type",
            "items[0].conversionId": "length",
            "items[0].createdAt": "format",
        },
    ),
    ({}, {"items[0].from": "required", "items[0].to": "required", "items[0].rate": "required"}),
    (7, {"items[0]": "type"}),
)


def test_errors_name_the_item(sandbox: PartnerClient) -> None:
    found = [codes(sandbox.post(TRANSACTIONS, {"items": [item, ITEM]})) for item, _errors in WRONG]
    assert found == [errors for _item, errors in WRONG]
    assert not Conversion.objects.exists()


def test_errors_of_the_list(sandbox: PartnerClient) -> None:
    assert codes(sandbox.post(TRANSACTIONS, {})) == {"items": "required"}
    for items, code in (([], "length"), ([ITEM] * 101, "length"), ({}, "type")):
        assert codes(sandbox.post(TRANSACTIONS, {"items": items})) == {"items": code}
    assert codes(sandbox.post(TRANSACTIONS, {"items": [ITEM], "more": 1})) == {"more": "unknown"}
    text = json.dumps({"items": [ITEM]}).replace('"rate"', '"rate": "1", "rate"')
    assert codes(sandbox.post(TRANSACTIONS, text.encode())) == {"items[0].rate": "duplicate"}


def test_a_document_is_a_pdf_that_says_sample(sandbox: PartnerClient) -> None:
    response = sandbox.post(DOCUMENTS, {"type": "taxSlip", "title": "T5 – 2025"})

    assert response.status == 201
    assert sandbox.get(f"{USER}/documents").json()["items"] == [response.json()]
    file = sandbox.get(f"{USER}/documents/{response.json()['documentId']}")
    assert file.body.startswith(b"%PDF-")
    assert b"SAMPLE" in file.body
    assert codes(sandbox.post(DOCUMENTS, {"type": "letter", "title": ""})) == {"type": "notAllowed", "title": "length"}


def test_a_full_storage_is_unavailable_and_nothing_is_half_done(
    sandbox: PartnerClient, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key, fsync = str(uuid.uuid4()), os.fsync

    def fill_up(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    # The file is written when a disk says at last that it is full.
    monkeypatch.setattr(os, "fsync", fill_up)
    response = sandbox.post(DOCUMENTS, BODIES[DOCUMENTS], key=key)
    assert assert_error(response, 503)["error"] == "internal_error"
    assert response.header("Retry-After") == "2"
    assert not Document.objects.exists()
    assert not [path for path in folder.rglob("*") if path.is_file()]
    assert [record.levelname for record in caplog.records if record.name.startswith("sandbox")] == ["ERROR"]
    monkeypatch.setattr(os, "fsync", fsync)
    assert sandbox.post(DOCUMENTS, BODIES[DOCUMENTS], key=key).status == 201


def test_an_idempotency_key_is_honoured(sandbox: PartnerClient) -> None:
    for path, body in BODIES.items():
        key = str(uuid.uuid4())
        once, again = (sandbox.post(path, body, key=key) for _ in range(2))
        assert once.body == again.body, path
        assert again.header("Idempotent-Replayed") == "true", path


# sandbox/.
WEBHOOKS, ROTATE = "/v1/sandbox/webhooks", "/v1/sandbox/api-keys/rotate"
ONE = f"{WEBHOOKS}/7f8d2c1a-3b4e-4f5a-8c6d-9e0f1a2b3c4d"
OWN: dict[str, dict[str, Any]] = {
    WEBHOOKS: {"url": "https://hooks.example.com/"},
    **{path: {} for path in (ONE, f"{ONE}/test", f"{ONE}/rotate-secret", ROTATE)},
}
NOWHERE = [f"/v1/sandbox{name}" for name in ("", "/users", "/users/ada", "/webhooks/", "/api-keys")]


METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS")


def test_nothing_is_there_for_live_partners(api: PartnerClient, partner: Partner) -> None:
    api.post("/v1/users", factories.user_body(externalId="ada"))
    before = User.objects.values().get()
    found = {}
    for path, method in itertools.product((*BODIES, *OWN, *NOWHERE), METHODS):
        body = json.dumps((BODIES | OWN).get(path, {})).encode() if method in {"POST", "PATCH", "PUT"} else b""
        found[method, path] = api.send(method, path, body).status
    assert found == dict.fromkeys(found, 404)
    assert User.objects.values().get() == before
    models = (StatusChange, Conversion, Document, OutboxEntry, WebhookEndpoint)
    assert not any(model.objects.exists() for model in models)
    assert ApiKey.objects.filter(partner=partner).count() == 1


def test_a_wrong_method_comes_before_the_media_type_and_faults(sandbox: PartnerClient) -> None:
    headers = {"Content-Type": "text/plain", "X-Sandbox-Fault": "internalError"}
    assert_error(sandbox.send("PATCH", TRANSACTIONS, b"x", headers=headers), 405)


def test_nobody_without_a_signature_learns_what_is_there(sandbox: PartnerClient) -> None:
    assert_error(sandbox.post(STATUS, {"status": "active"}, secret="psi_test_secret_x"), 401)
    assert failing_fields(sandbox.post("/v1/sandbox/users/%20/status", {"status": "active"})) == ["externalId"]
