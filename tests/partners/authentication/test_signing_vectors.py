"""The published vectors, sent to the service with its clock set: what should be accepted is, and nothing else."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from core import encryption
from core.formats.rfc_3339 import parse_timestamp
from partners.authentication import signature_authentication
from partners.authentication.signature_authentication import VISIBLE_CHARACTERS, digest
from partners.models import ApiKey, Partner
from tests.examples.languages import Signed
from tests.examples.published import API_KEY, REFUSED, SECRET, VECTORS, by_the_service, signed, target
from tests.support.client import Headers, Response, in_process
from tests.support.responses import assert_error

Send = Callable[[Signed, Headers, str], Response]

each_vector = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
each_refused = pytest.mark.parametrize("entry", REFUSED, ids=lambda entry: entry["id"])


@pytest.fixture
def send(partner: Partner, monkeypatch: pytest.MonkeyPatch) -> Send:
    """Sends a request, with these headers, to a service that knows the published key and has this time."""
    ApiKey.objects.create(
        partner=partner,
        prefix=API_KEY[: len("psi_key_") + VISIBLE_CHARACTERS],
        digest=digest(API_KEY),
        encrypted_secret=encryption.encrypt(SECRET, purpose=encryption.API_SECRETS),
    )

    def send(request: Signed, headers: Headers, now: str) -> Response:
        clock = SimpleNamespace(now=parse_timestamp(now).astimezone)
        monkeypatch.setattr(signature_authentication, "datetime", clock)
        return in_process(request.method, request.target, headers, request.body.encode())

    return send


def headers_of(request: Signed, signature: str) -> Headers:
    headers = {"X-Api-Key": API_KEY, "X-Request-Timestamp": request.timestamp, "X-Request-Signature": signature}
    key = {"Idempotency-Key": request.key} if request.key else {}
    return headers | key | {"Content-Type": "application/json"}


def sent(entry: dict[str, Any]) -> Signed:
    """A refused request, as its sender should have signed it."""
    headers = entry["headers"]
    stamp, key = headers.get("X-Request-Timestamp", entry["now"]), headers.get("Idempotency-Key", "")
    return Signed(entry["method"], target(entry), stamp, key, entry["body"])


def assert_accepted(response: Response) -> None:
    """Whatever was asked for, whoever asked is known."""
    assert response.status in {200, 201, 400, 404}, response.body
    assert response.header("RateLimit")


@each_vector
def test_a_vector_is_accepted(send: Send, vector: dict[str, Any]) -> None:
    request = signed(vector)
    signature = vector.get("signatureAsSent", vector["signature"])
    assert_accepted(send(request, headers_of(request, signature), request.timestamp))


@each_refused
def test_a_refused_vector_is_refused(send: Send, entry: dict[str, Any]) -> None:
    response = send(sent(entry), entry["headers"], entry["now"])
    assert assert_error(response, entry["status"])["error"] == entry["error"]
    assert response.header("RateLimit") is None


@pytest.mark.parametrize(
    "entry", [entry for entry in REFUSED if entry["error"] == "unauthorized"], ids=lambda entry: entry["id"]
)
def test_a_refused_vector_has_no_other_mistake(send: Send, entry: dict[str, Any]) -> None:
    corrected = replace(sent(entry), timestamp=entry["now"])
    _canonical, signature = by_the_service(corrected, SECRET)
    assert_accepted(send(corrected, headers_of(corrected, signature), entry["now"]))
