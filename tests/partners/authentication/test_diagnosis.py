"""A 401 says why, to sandbox keys in force alone: contract, section 11."""

import hmac
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from django.db import DatabaseError

from partners.authentication import diagnosis as explanation
from partners.authentication import keys, signature_authentication, signatures
from partners.authentication.signature_authentication import digest
from partners.models import ApiKey, Mode, Partner
from tests import factories
from tests.partners.authentication.mistakes import (
    BODY_TEXT,
    MISTAKES,
    REQUESTS,
    TARGET,
    Sent,
    right,
)
from tests.support.client import PartnerClient, Response, in_process
from tests.support.responses import assert_error
from tests.support.round_trips import round_trips

FORM = "psi_test_key_" + "x" * 43


def now(shift: timedelta = timedelta(0)) -> str:
    return (datetime.now(UTC) + shift).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.fixture
def write(sandbox: PartnerClient) -> Sent:
    return Sent("PATCH", TARGET, now(), str(uuid4()), BODY_TEXT.encode(), sandbox.api_key, sandbox.secret)


def listing(sent: Sent) -> Sent:
    return sent._replace(**REQUESTS["list"])


def headers_of(sent: Sent, signature: str | None = None) -> dict[str, str]:
    headers = {
        "X-Api-Key": sent.api_key,
        "X-Request-Timestamp": sent.timestamp,
        "X-Request-Signature": right(sent) if signature is None else signature,
        "Content-Type": "application/json",
        "Host": "testserver",
    }
    return headers | ({"Idempotency-Key": sent.key} if sent.key else {})


def send(sent: Sent, signature: str | None = None, **changed: str | None) -> Response:
    """Send with this signature. changed: headers by names with underscores; None removes one."""
    headers = headers_of(sent, signature)
    for name, value in changed.items():
        headers.pop(name.replace("_", "-"), None)
        if value is not None:
            headers[name.replace("_", "-")] = value
    return in_process(sent.method, sent.target, headers, sent.body)


def diagnosis(response: Response) -> dict[str, str]:
    found: dict[str, str] = assert_error(response, 401)["diagnosis"]
    assert set(found) == {"cause", "message", "canonicalRequest"}
    return found


def test_the_requests_are_signed_rightly_otherwise(write: Sent) -> None:
    assert_error(send(listing(write)), 400)
    assert_error(send(write), 404)


def test_each_mistake_has_its_cause_and_neither_secret_nor_right_signature_is_shown(write: Sent) -> None:
    causes = {}
    for mistake in MISTAKES:
        sent = write._replace(**REQUESTS[mistake.of])
        response = send(sent, mistake.sign(sent))
        found = diagnosis(response)
        causes[mistake.name] = found["cause"]
        assert found["canonicalRequest"].split("\n") == sent.lines, mistake.name
        sentences = found["message"].split(". ")
        assert len(sentences) == len(set(sentences)) > 1, mistake.name
        assert found["message"].endswith("."), mistake.name
        shown = response.body.decode()
        assert write.secret.removeprefix("psi_test_secret_") not in shown, mistake.name
        assert right(sent) not in shown, mistake.name
    assert causes == {mistake.name: mistake.cause for mistake in MISTAKES}


def test_a_write_without_a_body_is_told_so(write: Sent) -> None:
    sent = write._replace(body=b"")
    found = diagnosis(send(sent, right(write)))
    assert (found["cause"], "The request has no body." in found["message"]) == ("body", True)
    # It is no cause of a read's.
    assert diagnosis(send(listing(write), "0" * 64))["cause"] == "unknown"


@pytest.mark.parametrize("timespec", ["seconds", "microseconds"])
@pytest.mark.parametrize("zone", ["Z", "+00:00"])
def test_a_clock_read_twice_is_told_in_each_precision(write: Sent, timespec: str, zone: str) -> None:
    sent_at = datetime.now(UTC).replace(microsecond=123_456)
    unit = timedelta(seconds=1) if timespec == "seconds" else timedelta(microseconds=1)
    sent, signed = (
        write._replace(timestamp=moment.isoformat(timespec=timespec).replace("+00:00", zone))
        for moment in (sent_at, sent_at - 7 * unit)
    )
    assert diagnosis(send(sent, right(signed)))["cause"] == "timestamp"


def test_a_line_that_is_left_out_is_named(write: Sent) -> None:
    signature = hmac.new(write.secret.encode(), "\n".join(write.lines[:5]).encode(), "sha256").hexdigest()
    message = diagnosis(send(write, signature))["message"]
    assert message.startswith("Line 6 is missing: body. ")


def test_each_cause_is_here() -> None:
    assert {one.cause for one in MISTAKES} | {"headerMissing", "timestampFormat", "clockSkew", "reused"} == (
        explanation.CAUSES
    )


@pytest.mark.parametrize(
    ("changed", "cause", "said"),
    [
        ({"X_Request_Signature": None}, "headerMissing", "Header X-Request-Signature is missing."),
        ({"X_Request_Timestamp": None}, "headerMissing", "Header X-Request-Timestamp is missing."),
        ({"X_Request_Timestamp": ""}, "headerMissing", "missing or not ASCII"),
        ({"X_Request_Timestamp": "2026-01-15T10:30:00"}, "timestampFormat", "such as 2026-01-15T10:30:00Z"),
        ({"X_Request_Timestamp": timedelta(hours=2)}, "clockSkew", "more than 300 seconds from the server's time"),
        ({"X_Request_Timestamp": "0001-01-01T00:00:00Z"}, "clockSkew", "synchronise the clock"),
    ],
)
def test_headers_and_clock_have_causes(
    write: Sent, changed: dict[str, str | timedelta | None], cause: str, said: str
) -> None:
    # A shift is of the time of this test.
    sent = {name: now(value) if isinstance(value, timedelta) else value for name, value in changed.items()}
    found = diagnosis(send(write, **sent))
    assert found["cause"] == cause
    assert said in found["message"]
    # It was sent just now.
    assert "sent the request earlier" not in found["message"]
    timestamp = sent.get("X_Request_Timestamp", write.timestamp)
    assert found["canonicalRequest"].split("\n")[3] == (timestamp or "")


def test_without_a_key_there_is_no_diagnosis(write: Sent) -> None:
    assert "diagnosis" not in assert_error(send(write, X_Api_Key=None), 401)


def test_a_signature_that_was_used_is_told(sandbox: PartnerClient) -> None:
    sandbox.post("/v1/users", factories.user_body(externalId="ada"))
    timestamp = now()
    once, again = (sandbox.patch("/v1/users/ada", {"city": "Ottawa"}, timestamp=timestamp) for _ in range(2))
    assert once.status == 200
    found = diagnosis(again)
    assert found["cause"] == "reused"
    assert found["message"] == "This request was already processed. Sign a new request."
    assert found["canonicalRequest"].startswith("PATCH\n/v1/users/ada\n")


@pytest.mark.parametrize("target", ["/v1/users/%FF", "/v1/ping?a=%C3"])
def test_a_request_without_a_canonical_one_has_no_diagnosis(write: Sent, target: str) -> None:
    headers = headers_of(write) | {"X-Request-Signature": ""}
    assert "diagnosis" not in assert_error(in_process("GET", target, headers, b""), 401)


def test_a_secret_or_key_within_the_request_is_not_shown(write: Sent) -> None:
    sent = write._replace(target=f"/v1/ping?secret={write.secret}&key={write.api_key}", key=write.secret, method="GET")
    shown = diagnosis(send(sent, "0" * 64))["canonicalRequest"]
    assert "secret=psi_test_secret_***" in shown
    assert write.api_key.removeprefix("psi_test_key_") not in shown
    assert write.secret.removeprefix("psi_test_secret_") not in shown


# Whom it is told


def revoke(record: ApiKey) -> None:
    keys.revoke(record)


def expire(record: ApiKey) -> None:
    ApiKey.objects.filter(pk=record.pk).update(expires_at=datetime.now(UTC) - timedelta(seconds=1))


def disable(record: ApiKey) -> None:
    Partner.objects.filter(pk=record.partner_id).update(enabled=False)


def nothing(record: ApiKey) -> None:
    """Leave the key in force."""


NOT_TOLD: list[tuple[str, Mode, Callable[[ApiKey], None]]] = [
    ("live", Mode.LIVE, nothing),
    ("revoked", Mode.SANDBOX, revoke),
    ("expired", Mode.SANDBOX, expire),
    ("disabled", Mode.SANDBOX, disable),
    ("live and revoked", Mode.LIVE, revoke),
]
REFUSED: dict[str, dict[str, str | None]] = {
    "signature": {"X_Request_Signature": "0" * 64},
    "form": {"X_Request_Signature": "signed"},
    "no signature": {"X_Request_Signature": None},
    "no timestamp": {"X_Request_Timestamp": None},
    "timestamp": {"X_Request_Timestamp": "yesterday"},
}


def test_all_other_keys_get_the_same_bytes(write: Sent, subtests: pytest.Subtests) -> None:
    senders = [write._replace(api_key=FORM), write._replace(api_key="psi_key_" + "x" * 43)]
    for _, mode, happen in NOT_TOLD:
        issued = keys.issue(partner=factories.PartnerFactory.create(mode=mode))
        happen(issued.record)
        senders.append(write._replace(api_key=issued.api_key, secret=issued.secret))
    for name, changed in REFUSED.items():
        with subtests.test(name):
            bodies = set()
            for sent in senders:
                response = send(sent, **changed)
                given = assert_error(response, 401)
                body = response.body.replace(given["requestId"].encode(), b"")
                bodies.add((body, str(sorted(response.headers)).encode()))
            assert len(bodies) == 1
            assert b"diagnosis" not in bodies.pop()[0]
            assert diagnosis(send(write, **changed))


def test_a_refusal_costs_the_same_whether_its_key_is_known_and_is_not_explained(
    write: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    explain = Mock()
    monkeypatch.setattr(explanation, "explain", explain)
    live, revoked = (
        keys.issue(partner=factories.PartnerFactory.create(mode=mode)) for mode in (Mode.LIVE, Mode.SANDBOX)
    )
    keys.revoke(revoked.record)
    for name, changed in REFUSED.items():
        read = 1 if changed.get("X_Request_Signature") in {"0" * 64, "signed"} else 0
        costs = {live.api_key: read, "psi_key_" + "x" * 43: read, revoked.api_key: 1, FORM: 1}
        for api_key, cost in costs.items():
            with round_trips() as made:
                send(write._replace(api_key=api_key), **changed)
            assert made.count == cost, (name, api_key)
    assert not explain.called


@pytest.mark.parametrize("api_key", ["psi_secret_" + "x" * 43, "psi_test_secret_" + "x" * 43, "x"])
def test_another_text_in_place_of_the_key_is_an_unknown_key(write: Sent, api_key: str) -> None:
    assert "diagnosis" not in assert_error(send(write._replace(api_key=api_key)), 401)


# How often it is told


@pytest.fixture
def two_a_minute(sandbox: PartnerClient, fresh_counter: None) -> None:
    Partner.objects.filter(api_keys__digest=digest(sandbox.api_key)).update(rate_limit="2/minute")


@pytest.mark.usefixtures("two_a_minute")
@pytest.mark.parametrize("name", ["signature", "no timestamp"])
def test_beyond_the_rate_limit_there_is_no_diagnosis(
    sandbox: PartnerClient, write: Sent, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert diagnosis(send(write, **REFUSED[name]))
    assert sandbox.get("/v1/ping").status == 200
    explain = Mock(wraps=explanation.explain)
    monkeypatch.setattr(explanation, "explain", explain)
    for changed in REFUSED.values():
        assert "diagnosis" not in assert_error(send(write, **changed), 401)
    assert not explain.called
    # A refused request is one of the partner's.
    assert_error(sandbox.get("/v1/ping"), 429)


@pytest.mark.usefixtures("two_a_minute")
def test_other_keys_do_not_use_up_the_rate_limit(sandbox: PartnerClient, write: Sent) -> None:
    for api_key in (FORM, "psi_key_" + "x" * 43, write.secret):
        for _ in range(3):
            send(write._replace(api_key=api_key), "0" * 64)
    assert (sandbox.get("/v1/ping").header("RateLimit") or "").startswith('"default";r=1;')


@pytest.mark.usefixtures("two_a_minute")
def test_a_repeated_signature_is_counted_once(sandbox: PartnerClient) -> None:
    Partner.objects.update(rate_limit="5/minute")
    sandbox.post("/v1/users", factories.user_body(externalId="ada"))
    timestamp = now()
    for _ in range(2):
        sandbox.patch("/v1/users/ada", {"city": "Ottawa"}, timestamp=timestamp)
    assert (sandbox.get("/v1/ping").header("RateLimit") or "").startswith('"default";r=1;')


# What may fail


def test_an_explanation_that_fails_leaves_a_401(write: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(explanation, "explain", explode)
    assert "diagnosis" not in assert_error(send(write, "0" * 64), 401)


def test_a_look_up_that_fails_leaves_a_401(write: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise DatabaseError

    monkeypatch.setattr(signature_authentication, "find_caller", fail)
    assert "diagnosis" not in assert_error(send(write, X_Request_Timestamp=None), 401)


# How much work it is

_LARGE: dict[str, tuple[str, bytes]] = {
    "query": ("/v1/ping?" + "&".join(f"{n % 10}=%2f" for n in range(600)), b""),
    "query, just not too long": ("/v1/ping?" + "a&" * 1300, b""),
    "path": ("/v1/users/" + "%C3%A9" * 500, b""),
    "body": ("/v1/ping", b"x" * 65_536),
    "JSON": ("/v1/ping", b"[" + b"1.5," * 16_000 + b"1]"),
    "nested JSON": ("/v1/ping", b"[" * 800 + b"1.5," * 3_000 + b"1" + b"]" * 800),
}


@pytest.mark.parametrize("name", _LARGE)
def test_the_work_is_bounded(write: Sent, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    target, body = _LARGE[name]
    hash_body, make_hmac = Mock(wraps=signatures.body_digest), Mock(wraps=hmac.digest)
    monkeypatch.setattr(signatures, "body_digest", hash_body)
    monkeypatch.setattr(hmac, "digest", make_hmac)
    sent = write._replace(method="GET", target=target, body=body)
    assert diagnosis(send(sent, "0" * 64))["cause"] == "unknown"
    # 64 KiB three times, once for the canonical request, and small placeholders.
    assert sum(len(call.args[0]) for call in hash_body.call_args_list) <= 3 * 65_600
    assert make_hmac.call_count <= 600
    assert sum(len(call.args[1]) for call in make_hmac.call_args_list) <= 2_500_000


def test_a_large_request_still_has_its_likeliest_mistakes(write: Sent) -> None:
    body = json.dumps({"items": [{"n": n / 7} for n in range(300)]}, indent=1).encode()
    sent = write._replace(method="POST", target="/v1/users", body=body)

    def wrong(digest: str) -> str:
        return diagnosis(send(sent, signatures.sign(sent.secret, "\n".join([*sent.lines[:5], digest]))))["cause"]

    compact = json.dumps(json.loads(body), separators=(",", ":")).encode()
    assert {wrong(signatures.body_digest(one)) for one in (b"", body + b"\n", compact)} == {"body"}
