"""GET /v1/sandbox/requests: contract, section 11."""

import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connections, transaction
from django.utils import timezone

from core.database import serving_role
from partners import request_log
from partners.models import Mode, Partner, SandboxRequest
from tests import factories
from tests.support import plans
from tests.support.client import PartnerClient, Response, Transport, in_process
from tests.support.commands import outcome
from tests.support.responses import assert_error

REQUESTS = "/v1/sandbox/requests"
NOBODYS = "4b0c7d1e-58a3-4d0c-9f0e-2f6a3c1b7d55"
FIELDS = {
    *("requestId", "createdAt", "method", "path", "query", "status", "error", "fieldErrors", "idempotencyKey"),
    *("replayed", "milliseconds", "diagnosis"),
}


def items(client: PartnerClient, query: str = "") -> list[dict[str, Any]]:
    response = client.get(REQUESTS + query)
    assert response.status == 200, response.body
    assert set(response.json()) == {"items"}
    found: list[dict[str, Any]] = response.json()["items"]
    return found


def last(client: PartnerClient) -> dict[str, Any]:
    return items(client)[0]


def partner_of(client: PartnerClient) -> Partner:
    return Partner.objects.get(api_keys__prefix=client.api_key[:21])


def make(partner: Partner, *, age: timedelta = timedelta(), **fields: Any) -> SandboxRequest:
    """A row, as it is written after a response."""
    values: dict[str, Any] = {"method": "GET", "path": "/v1/ping", "query": "", "status": 200, "field_errors": []}
    values |= {"replayed": False, "milliseconds": 1, "request_id": uuid.uuid4(), "created_at": timezone.now() - age}
    return SandboxRequest(partner=partner, **values | fields)


def test_a_request_is_there_with_its_fields(sandbox: PartnerClient) -> None:
    before = datetime.now(UTC)
    response = sandbox.get("/v1/users?b=%2f&limit=5")
    found = last(sandbox)
    assert set(found) == FIELDS
    assert found["requestId"] == response.header("X-Request-Id")
    assert before <= datetime.fromisoformat(found["createdAt"]) <= datetime.now(UTC)
    assert (found["method"], found["path"], found["query"]) == ("GET", "/v1/users", "b=%2f&limit=5")
    assert (found["status"], found["error"], found["fieldErrors"]) == (200, None, [])
    assert (found["idempotencyKey"], found["replayed"], found["diagnosis"]) == (None, False, None)
    assert isinstance(found["milliseconds"], int)
    one = sandbox.get(f"{REQUESTS}/{found['requestId']}")
    assert (one.status, one.json()) == (200, found)


def test_a_write_has_its_key_and_whether_it_was_replayed(sandbox: PartnerClient) -> None:
    key = str(uuid.uuid4())
    for _ in range(2):
        assert sandbox.post("/v1/users", factories.user_body(externalId="café"), key=key).status == 201
    replayed, first = items(sandbox)
    assert [one["replayed"] for one in (first, replayed)] == [False, True]
    assert {one["idempotencyKey"] for one in (first, replayed)} == {key}
    assert sandbox.get("/v1/users/caf%c3%a9").status == 200
    assert last(sandbox)["path"] == "/v1/users/caf%C3%A9"


def fault(name: str) -> Callable[[PartnerClient], Response]:
    return lambda client: client.get("/v1/ping", headers={"X-Sandbox-Fault": name})


REFUSED: dict[str, tuple[Callable[[PartnerClient], Response], int, str]] = {
    "signature": (lambda c: c.get("/v1/ping", secret="another"), 401, "unauthorized"),
    "clock": (lambda c: c.get("/v1/ping", timestamp="2026-01-15T10:30:00Z"), 401, "unauthorized"),
    "header": (lambda c: c.get("/v1/ping", headers={"X-Request-Signature": None}), 401, "unauthorized"),
    "body": (lambda c: c.post("/v1/users", {"externalId": 1}), 400, "bad_request"),
    "not JSON": (lambda c: c.post("/v1/users", b"{"), 400, "bad_request"),
    "media type": (lambda c: c.post("/v1/users", b"{}", headers={"Content-Type": "text/plain"}), 415, "bad_request"),
    "existence": (lambda c: c.get("/v1/users/nobody"), 404, "not_found"),
    "parameter": (lambda c: c.get("/v1/users?limit=0"), 400, "bad_request"),
    "fault": (fault("internalError"), 500, "internal_error"),
    "simulated limit": (fault("tooManyRequests"), 429, "too_many_requests"),
    "unknown fault": (fault("unknown"), 400, "bad_request"),
}


def test_a_refused_request_is_there(sandbox: PartnerClient, subtests: pytest.Subtests) -> None:
    for name, (send, status, error) in REFUSED.items():
        with subtests.test(name):
            body = assert_error(send(sandbox), status)
            found = last(sandbox)
            assert (found["requestId"], found["status"], found["error"]) == (body["requestId"], status, error)
            assert found["fieldErrors"] == body.get("fieldErrors", [])
            assert found["diagnosis"] == body.get("diagnosis")
            assert (found["diagnosis"] is not None) is (status == 401)


@pytest.mark.usefixtures("fresh_counter")
def test_a_request_over_the_limit_is_there(sandbox: PartnerClient) -> None:
    partner = partner_of(sandbox)
    Partner.objects.filter(pk=partner.pk).update(rate_limit="1/minute")
    sandbox.get("/v1/ping")
    assert_error(sandbox.get("/v1/ping"), 429)
    assert [one.status for one in request_log.last_requests(partner.pk)] == [429, 200]


def test_a_lost_answer_is_there_as_it_would_have_been(sandbox: PartnerClient) -> None:
    with pytest.raises(Exception, match="bytes"):
        fault("lostAnswer")(sandbox)
    assert last(sandbox)["status"] == 200


def test_reading_the_list_does_not_change_it(sandbox: PartnerClient) -> None:
    sandbox.get("/v1/ping")
    once = items(sandbox)
    sandbox.get(f"{REQUESTS}/{uuid.uuid4()}")
    assert_error(sandbox.get(f"{REQUESTS}?limit=x"), 400)
    assert items(sandbox) == once
    assert_error(sandbox.get(REQUESTS, secret="another"), 401)
    assert last(sandbox)["diagnosis"]["cause"] == "unknown"


def test_live_keys_and_keys_not_in_force_are_recorded_nowhere(api: PartnerClient, sandbox: PartnerClient) -> None:
    api.get("/v1/ping")
    api.get("/v1/ping", secret="another")
    sandbox.get("/v1/ping", headers={"X-Api-Key": "psi_test_key_" + "x" * 43})
    Partner.objects.filter(pk=partner_of(sandbox).pk).update(enabled=False)
    assert sandbox.get("/v1/ping").status == 401
    assert not SandboxRequest.objects.exists()


def test_the_list_is_cut_by_limit(sandbox: PartnerClient) -> None:
    partner = partner_of(sandbox)
    SandboxRequest.objects.bulk_create(make(partner, age=timedelta(seconds=n), status=200 + n) for n in range(30))
    assert [one["status"] for one in items(sandbox)] == [200 + n for n in range(25)]
    assert [one["status"] for one in items(sandbox, "?limit=2")] == [200, 201]
    assert len(items(sandbox, "?limit=100&cursor=ignored&unknown=1")) == 30


def test_the_last_100_of_24_hours_are_kept(sandbox: PartnerClient) -> None:
    partner = partner_of(sandbox)
    rows = [make(partner, age=timedelta(minutes=n)) for n in range(104)]
    SandboxRequest.objects.bulk_create(rows[:-1])
    request_log.store(rows[-1])
    assert SandboxRequest.objects.count() == 100
    assert [one["requestId"] for one in items(sandbox, "?limit=100")] == [str(row.request_id) for row in rows[:100]]
    old = make(partner, age=timedelta(hours=24, seconds=1))
    SandboxRequest.objects.all().delete()
    request_log.store(old)
    assert items(sandbox) == []
    assert_error(sandbox.get(f"{REQUESTS}/{old.request_id}"), 404)


def test_another_partners_requests_stay(sandbox: PartnerClient, transport: Transport) -> None:
    other = factories.PartnerFactory.create(mode=Mode.SANDBOX)
    theirs = make(other)
    request_log.store(theirs)
    SandboxRequest.objects.bulk_create(make(partner_of(sandbox)) for _ in range(100))
    request_log.store(make(partner_of(sandbox)))
    assert SandboxRequest.objects.filter(partner=partner_of(sandbox)).count() == 100
    assert SandboxRequest.objects.filter(partner=other).count() == 1
    assert_error(sandbox.get(f"{REQUESTS}/{theirs.request_id}"), 404)
    assert factories.client_of(other, transport).get(f"{REQUESTS}/{theirs.request_id}").status == 200


def test_no_such_request_is_not_found(sandbox: PartnerClient) -> None:
    for request_id in ("x", "%00", NOBODYS.replace("-", ""), NOBODYS):
        assert_error(sandbox.get(f"{REQUESTS}/{request_id}"), 404)


def test_old_requests_are_purged(sandbox: PartnerClient) -> None:
    partner = partner_of(sandbox)
    kept = make(partner, age=timedelta(hours=23, minutes=59))
    for row in (kept, make(partner, age=timedelta(hours=24, minutes=1))):
        request_log.store(row)
    assert outcome("purge_expired")["sandboxRequests"] == 1
    assert [row.request_id for row in SandboxRequest.objects.all()] == [kept.request_id]


# What is kept of a request


def test_keys_and_secrets_are_masked_and_no_body_is_kept(sandbox: PartnerClient) -> None:
    sandbox.post("/v1/users", factories.user_body(externalId="ada", firstName="Zephyrine", unknown="Zephyrine"))
    sandbox.get(f"/v1/ping?a={sandbox.secret}&b={sandbox.api_key.replace('_', '%5F')}", key=sandbox.secret)
    kept = str(list(SandboxRequest.objects.values()))
    parts = (sandbox.secret.removeprefix("psi_test_secret_"), sandbox.api_key.removeprefix("psi_test_key_"))
    assert not [hidden for hidden in (*parts, "Zephyrine") if hidden in kept]
    assert last(sandbox)["query"] == "a=psi_test_secret_***&b=psi_test_key_***"


@pytest.mark.parametrize("query", ["x=" + "y" * 8000, "&".join(["x=%F0%9F%98%80"] * 500)])
def test_long_texts_are_cut(sandbox: PartnerClient, query: str) -> None:
    assert sandbox.get(f"/v1/ping?{query}", key="k" * 5000).status == 200
    found = last(sandbox)
    assert found["query"] == query[: request_log.MAX_LENGTH - 1] + "…"
    assert len(found["idempotencyKey"]) == request_log.MAX_LENGTH


def test_odd_texts_are_kept_as_far_as_they_can_be(sandbox: PartnerClient) -> None:
    names = {f"f{n}": 1 for n in range(200)} | {"a\0b": 1, "\ud800": 1}
    assert_error(sandbox.post("/v1/users", names), 400)
    assert len(last(sandbox)["fieldErrors"]) == request_log.MAX_FIELD_ERRORS
    assert_error(sandbox.post("/v1/users", {"a\0b": 1}), 400)
    assert "a\N{REPLACEMENT CHARACTER}b" in {one["field"] for one in last(sandbox)["fieldErrors"]}
    headers = sandbox.headers("GET", "/v1/ping", b"", key=None, timestamp=None, secret=None)
    in_process("GET", "/v1/ping?é\xff", headers, b"")
    in_process("GET", "/v1/users/%FF", headers | {"X-Request-Timestamp": "yesterday"}, b"")
    assert last(sandbox)["path"] == "/v1/users/%FF"


def test_a_request_that_cannot_be_recorded_is_answered(
    sandbox: PartnerClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(request_log, "_row", fail)
    assert sandbox.get("/v1/ping").status == 200
    assert "could not be recorded" in caplog.text


def test_a_locked_table_fails_no_request_and_delays_it_for_a_moment(
    committed_sandbox: PartnerClient, caplog: pytest.LogCaptureFixture
) -> None:
    with transaction.atomic(using=serving_role.OWNER), connections[serving_role.OWNER].cursor() as owner:
        owner.execute("LOCK TABLE partners_sandboxrequest IN ACCESS EXCLUSIVE MODE")
        begun = time.monotonic()
        responses = [committed_sandbox.get("/v1/ping"), committed_sandbox.get("/v1/ping", secret="another")]
        # Each would wait for the 60 seconds of the tests' connections.
        assert time.monotonic() - begun < 60
    assert [response.status for response in responses] == [200, 401]
    assert caplog.text.count("could not be recorded") == 2
    recorded = committed_sandbox.post("/v1/users", {})
    assert [one["requestId"] for one in items(committed_sandbox)] == [recorded.header("X-Request-Id")]


# Indexes


def test_the_list_and_the_look_up_use_their_indexes(sandbox: PartnerClient) -> None:
    partner_id = partner_of(sandbox).pk
    rows = request_log.last_requests(partner_id)
    with plans.planning_without(*plans.UNORDERED):
        listed = rows[:25].explain()
        looked_up = rows.filter(request_id=uuid.uuid4()).explain()
    assert "sandbox_request_newest" in listed
    assert "Sort" not in listed
    assert "partners_sandboxrequest" in looked_up
