"""Authentication: contract, section 3. Each attack is one change to an acceptable request."""

import base64
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from unittest.mock import Mock
from uuid import uuid4

import pytest
from pytest_django.fixtures import Settings
from structlog.testing import capture_logs

from core import encryption
from partners.authentication import keys, signature_authentication, signatures
from partners.authentication.signature_authentication import AuthenticationFailure
from partners.models import ApiKey, Partner
from tests import factories
from tests.support.client import Headers, PartnerClient, Response, in_process
from tests.support.database import undone
from tests.support.metrics import totals
from tests.support.responses import assert_error, failing_fields
from users.models import User

NOT_VALID = "Invalid API key or signature."
KEY, TIMESTAMP, SIGNATURE = "X-Api-Key", "X-Request-Timestamp", "X-Request-Signature"


@dataclass
class Request:
    """A request on its way: signed, and open to change."""

    client: PartnerClient
    method: str
    target: str
    headers: Headers
    body: bytes

    def response(self) -> Response:
        return self.client.transport(self.method, self.target, self.headers, self.body)

    def sign_again(self, *, secret: str | None = None, timestamp: str | None = None) -> None:
        key = self.headers.get("Idempotency-Key")
        self.headers = self.client.headers(
            self.method, self.target, self.body, key=key, timestamp=timestamp, secret=secret
        )

    def key_record(self) -> ApiKey:
        return keys.find(self.client.api_key)

    @contextmanager
    def changed(self, change: "Change") -> Iterator["Request"]:
        """A copy with this change, whatever it changes undone at the end."""
        with undone():
            request = replace(self, headers=dict(self.headers))
            change(request)
            yield request


Change = Callable[[Request], object]


@pytest.fixture
def request_(api: PartnerClient, create_user: Callable[..., Response]) -> Request:
    """An update with everything that is signed: path, query, body, idempotency key."""
    create_user(externalId="ada")
    create_user(externalId="bob")
    request = Request(api, "PATCH", "/v1/users/ada?b=2&a=1", {"Idempotency-Key": str(uuid4())}, b'{"city": "Ottawa"}')
    request.sign_again()
    return request


def header(name: str, value: str | Callable[[str], str]) -> Change:
    def change(request: Request) -> None:
        request.headers[name] = value if isinstance(value, str) else value(request.headers[name])

    return change


def without(name: str) -> Change:
    return lambda request: request.headers.pop(name)


def part(name: str, value: object) -> Change:
    return lambda request: setattr(request, name, value)


def signed_at(text: str) -> Change:
    return lambda request: request.sign_again(timestamp=text)


def signed_in(seconds: int) -> Change:
    return lambda request: request.sign_again(timestamp=(datetime.now(UTC) + timedelta(seconds=seconds)).isoformat())


def signed_with(secret: Callable[[Request], str]) -> Change:
    return lambda request: request.sign_again(secret=secret(request))


def another_key(request: Request) -> keys.IssuedKey:
    return keys.issue(partner=request.key_record().partner)


def another_partner(request: Request) -> PartnerClient:
    return factories.client_of(factories.PartnerFactory.create(), in_process)


def expire(request: Request) -> None:
    ApiKey.objects.filter(pk=request.key_record().pk).update(expires_at=datetime.now(UTC) - timedelta(seconds=1))


def disable(request: Request) -> None:
    Partner.objects.filter(pk=request.key_record().partner_id).update(enabled=False)


REFUSED_WITHOUT_REASON: dict[str, Change] = {
    "unknown key": header(KEY, "psi_key_" + "x" * 43),
    "key cut short": header(KEY, lambda key: key[:-1]),
    "key's visible prefix": header(KEY, lambda key: key[:16]),
    "key in another letter case": header(KEY, str.upper),
    "key twice": header(KEY, lambda key: f"{key},{key}"),
    "key revoked": lambda request: keys.revoke(request.key_record()),
    "key expired": expire,
    "partner disabled": disable,
    "key of another partner": lambda request: header(KEY, another_partner(request).api_key)(request),
    "other key of the partner": lambda request: header(KEY, another_key(request).api_key)(request),
    "secret of another partner": signed_with(lambda request: another_partner(request).secret),
    "secret of the partner's other key": signed_with(lambda request: another_key(request).secret),
    "secret cut short": signed_with(lambda request: request.client.secret[:-1]),
    "secret decoded": signed_with(lambda request: request.client.secret.removeprefix("psi_secret_")),
    "key as the secret": signed_with(lambda request: request.client.api_key),
    "method changed": part("method", "GET"),
    "path changed": part("target", "/v1/users/bob?b=2&a=1"),
    "path's letter case changed": part("target", "/v1/users/Ada?b=2&a=1"),
    "query dropped": part("target", "/v1/users/ada"),
    "query's value changed": part("target", "/v1/users/ada?b=2&a=2"),
    "query's names exchanged": part("target", "/v1/users/ada?a=2&b=1"),
    "parameter added": part("target", "/v1/users/ada?b=2&a=1&c="),
    "parameter repeated": part("target", "/v1/users/ada?b=2&a=1&a=1"),
    "body changed": part("body", b'{"city": "ottawa"}'),
    "body's white space changed": part("body", b'{"city":"Ottawa"}'),
    "body dropped": part("body", b""),
    "timestamp's form changed": header(TIMESTAMP, lambda text: text.replace("Z", "+00:00")),
    "timestamp moved": header(TIMESTAMP, lambda text: text.replace("Z", "0Z")),
    "idempotency key changed": header("Idempotency-Key", str(uuid4())),
    "idempotency key's letter case changed": header("Idempotency-Key", str.upper),
    "idempotency key dropped": without("Idempotency-Key"),
    "signature of zeros": header(SIGNATURE, "0" * 64),
    "signature cut short": header(SIGNATURE, lambda text: text[:-1]),
    "signature too long": header(SIGNATURE, lambda text: text + "00"),
    "signature in base64": header(SIGNATURE, lambda text: base64.b64encode(bytes.fromhex(text)).decode()),
    "signature not hex": header(SIGNATURE, "g" * 64),
    "signature with a scheme": header(SIGNATURE, lambda text: f"sha256={text}"),
    "signature twice": header(SIGNATURE, lambda text: f"{text},{text}"),
}
REFUSED_WITH_REASON: dict[str, tuple[Change, str]] = {
    **{
        f"{name} {how}": (change, f"Header {name} is missing")
        for name in (KEY, TIMESTAMP, SIGNATURE)
        for how, change in {"absent": without(name), "empty": header(name, "")}.items()
    },
    **{
        f"{name} {how}": (header(name, value), f"Header {name} is missing or not ASCII.")
        for name in (KEY, TIMESTAMP, SIGNATURE)
        for how, value in {"empty, and the reason": "", "not ASCII": "\xe9" * 64}.items()
    },
    "timestamp no date-time": (signed_at("yesterday"), "not an RFC 3339 date-time"),
    "timestamp twice": (header(TIMESTAMP, lambda text: f"{text},{text}"), "not an RFC 3339 date-time"),
    "timestamp stale": (signed_in(-3600), "server's time, which is 20"),
    "timestamp of the future": (signed_in(3600), "server's time, which is 20"),
    "timestamp of year 1": (signed_at("0001-01-01T00:00:00Z"), "server's time, which is 20"),
    "timestamp of year 9999": (signed_at("9999-12-31T23:59:59Z"), "server's time, which is 20"),
}
ATTACKS = {name: (change, NOT_VALID) for name, change in REFUSED_WITHOUT_REASON.items()} | REFUSED_WITH_REASON


def test_the_request_that_is_attacked_would_have_been_accepted(request_: Request) -> None:
    assert request_.response().status == 200
    assert User.objects.get(external_id="ada").city == "Ottawa"


def test_an_attack_is_refused_and_changes_nothing(request_: Request, subtests: pytest.Subtests) -> None:
    for name, (attack, reason) in ATTACKS.items():
        with subtests.test(name), request_.changed(attack) as request:
            response = request.response()
            body = assert_error(response, 401)
            assert body["error"] == "unauthorized"
            assert "diagnosis" not in body
            assert body["message"] == NOT_VALID if reason == NOT_VALID else reason in body["message"]
            assert response.header("WWW-Authenticate") == 'HMAC-SHA256 realm="partner-service"'
            assert set(User.objects.values_list("city", flat=True)) == {"Toronto"}


@pytest.mark.parametrize("has_seen_the_key", [True, False])
@pytest.mark.parametrize("attack", ["unknown key", "body changed"])
def test_an_unknown_key_costs_the_work_of_a_wrong_signature(
    request_: Request, monkeypatch: pytest.MonkeyPatch, attack: str, *, has_seen_the_key: bool
) -> None:
    ATTACKS[attack][0](request_)
    if has_seen_the_key:
        request_.response()
    else:
        signature_authentication._last_callers.clear()
        signature_authentication._decrypt.cache_clear()
    verify, decrypt = Mock(wraps=signatures.verify), Mock(wraps=encryption.decrypt)
    monkeypatch.setattr(signatures, "verify", verify)
    monkeypatch.setattr(encryption, "decrypt", decrypt)
    request_.response()
    assert [len(call.args[0]) >= 43 for call in verify.call_args_list] == [True]
    assert decrypt.call_count == (0 if has_seen_the_key else 1)


def test_no_secret_signs_for_an_unknown_key(request_: Request) -> None:
    request_.sign_again(secret="none")
    header(KEY, "psi_key_unknown")(request_)
    assert assert_error(request_.response(), 401)["message"] == NOT_VALID
    assert not signature_authentication.find_caller(signature_authentication.digest("psi_key_unknown"))[0].is_active


EQUIVALENT: dict[str, Change] = {
    "signature in upper case": header(SIGNATURE, str.upper),
    "query in another order": part("target", "/v1/users/ada?a=1&b=2"),
    "empty pieces in the query": part("target", "/v1/users/ada?&b=2&&a=1&"),
    "query encoded needlessly": part("target", "/v1/users/ada?%62=%32&a=1"),
    "path encoded needlessly": part("target", "/v1/users/%61da?b=2&a=1"),
    "slash encoded": part("target", "/v1/%75sers%2fada?b=2&a=1"),
}


def test_an_equivalent_request_is_accepted(request_: Request) -> None:
    for name, change in EQUIVALENT.items():
        with request_.changed(change) as request:
            assert request.response().status == 200, name


def test_an_encoded_percent_sign_is_not_decoded_twice(api: PartnerClient, create_user: Callable[..., Response]) -> None:
    create_user(externalId="%C3%A9")
    headers = api.headers("GET", "/v1/users/%25C3%25A9", b"", key=None, timestamp=None, secret=None)
    assert in_process("GET", "/v1/users/%25C3%25A9", headers, b"").status == 200
    assert in_process("GET", "/v1/users/%C3%A9", headers, b"").status == 401


@pytest.mark.parametrize(("seconds", "status"), [(-301, 401), (-300, 200), (0, 200), (300, 200), (301, 401)])
def test_the_window_is_300_seconds_either_way(
    api: PartnerClient, monkeypatch: pytest.MonkeyPatch, seconds: int, status: int
) -> None:
    at = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
    monkeypatch.setattr(signature_authentication, "datetime", SimpleNamespace(now=at.astimezone))
    assert api.get("/v1/ping", timestamp=(at + timedelta(seconds=seconds)).isoformat()).status == status


def test_the_window_can_be_set(api: PartnerClient, settings: Settings) -> None:
    settings.CLOCK_SKEW_SECONDS = 10
    stamp = (datetime.now(UTC) - timedelta(seconds=60)).isoformat()
    assert "more than 10 seconds" in assert_error(api.get("/v1/ping", timestamp=stamp), 401)["message"]


@pytest.mark.parametrize("target", ["/v1/users/%FF", "/v1/users/%ED%A0%80", "/v1/ping?a=%FF", "/v1/ping?%C3"])
def test_a_target_that_is_not_utf8_is_a_bad_request(partner: Partner, target: str) -> None:
    # Django's test clients make a request whose path is text: its bytes are lost (partners/api/handler.py).
    assert failing_fields(factories.client_of(partner, in_process).get(target)) == []


def test_a_key_and_a_body_on_a_get_are_signed_and_otherwise_ignored(api: PartnerClient) -> None:
    headers = api.headers("GET", "/v1/ping", b"body", key="no uuid", timestamp=None, secret=None)
    assert in_process("GET", "/v1/ping", headers, b"body").status == 200
    assert in_process("GET", "/v1/ping", headers | {"Idempotency-Key": "no UUID"}, b"body").status == 401
    assert in_process("GET", "/v1/ping", headers, b"").status == 401


def test_every_key_of_a_partner_has_a_secret_of_its_own_and_is_in_force_until_it_expires(
    api: PartnerClient, partner: Partner
) -> None:
    other = factories.client_of(partner, in_process)
    ApiKey.objects.update(expires_at=datetime.now(UTC) + timedelta(minutes=1))
    assert other.secret != api.secret
    assert (api.get("/v1/ping").status, other.get("/v1/ping").status) == (200, 200)


# The cause of a refusal: in the log and in the metrics; the partner sees one text for most

CAUSES = {
    f"{SIGNATURE} absent": AuthenticationFailure.MISSING_HEADER,
    "timestamp no date-time": AuthenticationFailure.MALFORMED_TIMESTAMP,
    "timestamp stale": AuthenticationFailure.CLOCK_SKEW,
    "timestamp of year 1": AuthenticationFailure.CLOCK_SKEW,
    "key cut short": AuthenticationFailure.UNKNOWN_KEY,
    "secret cut short": AuthenticationFailure.BAD_SIGNATURE,
    **dict.fromkeys(("key revoked", "key expired", "partner disabled"), AuthenticationFailure.NOT_IN_FORCE),
}


def refusals() -> Counter[str]:
    return totals("psi_unauthorized_total", "cause")


def test_each_cause_is_logged_and_counted_with_the_key_that_was_sent(
    request_: Request, caplog: pytest.LogCaptureFixture, subtests: pytest.Subtests
) -> None:
    for attack, cause in CAUSES.items():
        with subtests.test(attack), request_.changed(ATTACKS[attack][0]) as request:
            before, client = refusals(), request.client
            with capture_logs() as lines:
                assert request.response().status == 401
            assert [line["cause"] for line in lines if line["event"] == "unauthorized"] == [cause.value]
            assert [line["key"] for line in lines if line["event"] == "request"] == [request.key_record().prefix]
            assert refusals() - before == {cause.value: 1}
            assert not any(hidden in f"{lines}{caplog.text}" for hidden in (client.secret, client.api_key))


def test_an_update_that_is_sent_again_is_a_replay(request_: Request) -> None:
    del request_.headers["Idempotency-Key"]
    request_.sign_again()
    before = refusals()
    assert [request_.response().status for _ in range(2)] == [200, 401]
    assert refusals() - before == {AuthenticationFailure.REPLAY.value: 1}


@pytest.mark.parametrize("sent", ["", "ada@example.com", "psi_secret_of-a-confused-client"])
def test_what_is_no_key_is_not_logged(request_: Request, sent: str) -> None:
    header(KEY, sent)(request_)
    with capture_logs() as lines:
        assert request_.response().status == 401
    assert [line["key"] for line in lines if line["event"] == "request"] == [None]
