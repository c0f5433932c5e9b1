"""The signature doctor by a request's id and the secret of a test key."""

import hmac
import json
import uuid
from datetime import timedelta
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlencode

import pytest
from django.db import OperationalError
from django.utils import timezone

from partners import encryption
from partners.authentication import keys
from partners.models import ApiKey, Mode, Partner, SandboxRequest
from portal.doctor import page as doctor_page
from portal.doctor import request_by_id
from tests import factories
from tests.portal.reading import Page
from tests.support.client import PartnerClient, Response, Transport, in_process

PATH = "/docs/doctor"


def ask(request_id: str, secret: str) -> Response:
    """Ask like a program."""
    body = json.dumps({"requestId": request_id, "secret": secret}).encode()
    return in_process("POST", PATH, {"Content-Type": "application/json"}, body)


def fill_in(request_id: str, secret: str) -> Page:
    """Ask by the form."""
    body = urlencode({"requestId": request_id, "secret": secret}).encode()
    response = in_process("POST", PATH, {"Content-Type": "application/x-www-form-urlencoded"}, body)
    assert response.header("Cache-Control") == "no-store"
    return Page(response.body.decode())


@pytest.fixture
def refused(sandbox: PartnerClient) -> str:
    """The id of a request that was refused for its query."""
    headers = sandbox.headers("GET", "/v1/users", b"", key=None, timestamp=None, secret=None)
    return str(in_process("GET", "/v1/users?limit=5", headers, b"").header("X-Request-Id"))


def test_the_secret_shows_the_request_with_its_diagnosis(sandbox: PartnerClient, refused: str) -> None:
    response = ask(refused, sandbox.secret)
    assert response.status == 200
    assert response.json() == sandbox.get(f"/v1/sandbox/requests/{refused}").json()
    assert response.json()["diagnosis"]["cause"] == "query"
    page = fill_in(refused.upper(), f" {sandbox.secret} ")
    assert "Refused: query" in page.text
    assert response.json()["diagnosis"]["message"] in page.text
    assert "limit=5" in page.text


def test_a_request_that_was_not_refused_for_its_signature_is_told_as_such(sandbox: PartnerClient) -> None:
    missing, accepted = (str(sandbox.get(path).header("X-Request-Id")) for path in ("/v1/users/no", "/v1/ping"))
    assert "Not refused for its signature: 404 not_found" in fill_in(missing, sandbox.secret).text
    assert "Accepted: 200" in fill_in(accepted, sandbox.secret).text


def test_any_key_in_force_of_the_partner_will_do(sandbox: PartnerClient, refused: str) -> None:
    partner = Partner.objects.get(api_keys__prefix=sandbox.api_key[:21])
    other = keys.issue(partner=partner)
    assert ask(refused, other.secret).status == 200
    keys.revoke(other.record)
    assert ask(refused, other.secret).status == 404
    ApiKey.objects.update(encrypted_secret="lost")
    assert ask(refused, sandbox.secret).status == 404


def answers_without(refused: str, sandbox: PartnerClient, transport: Transport) -> list[Response]:
    other = factories.client_of(factories.PartnerFactory.create(mode=Mode.SANDBOX), transport)
    wrong = (other.secret, sandbox.secret[:-1], "", "é", "\ud800", sandbox.api_key, "psi_test_secret_" + "x" * 43)
    return [
        *(ask(refused, secret) for secret in wrong),
        *(ask(request_id, sandbox.secret) for request_id in (str(uuid.uuid4()), "x", "\0")),
    ]


def test_without_the_secret_nothing_is_said_of_an_id(
    sandbox: PartnerClient, refused: str, transport: Transport
) -> None:
    answers = answers_without(refused, sandbox, transport)
    assert {answer.status for answer in answers} == {404}
    assert {answer.body for answer in answers} == {json.dumps({"message": doctor_page.NO_SUCH_REQUEST}).encode()}
    assert doctor_page.NO_SUCH_REQUEST in fill_in(refused, "wrong").text


def test_an_unknown_id_costs_what_a_wrong_secret_does(
    refused: str, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    compare, decrypt = Mock(wraps=hmac.compare_digest), Mock(wraps=encryption.decrypt)
    monkeypatch.setattr(hmac, "compare_digest", compare)
    monkeypatch.setattr(encryption, "decrypt", decrypt)
    for request_id in (refused, str(uuid.uuid4())):
        with django_assert_num_queries(2):
            ask(request_id, "wrong")
        assert decrypt.call_count == request_by_id.MAX_KEYS
        assert sum(call.args[1] == b"wrong" for call in compare.call_args_list) == request_by_id.MAX_KEYS
        decrypt.reset_mock()
        compare.reset_mock()


def test_an_old_request_is_not_found(sandbox: PartnerClient, refused: str) -> None:
    row = SandboxRequest.objects.get()
    SandboxRequest.objects.all().delete()
    row.created_at = timezone.now() - timedelta(hours=25)
    row.save(force_insert=True)
    assert ask(refused, sandbox.secret).status == 404


def test_a_live_secret_is_refused_and_not_repeated(api: PartnerClient, refused: str) -> None:
    response = ask(refused, api.secret)
    assert response.status == 400
    assert "rotate that key" in response.json()["message"]
    assert api.secret not in fill_in(refused, api.secret).source


def test_no_secret_is_put_back_or_logged(
    sandbox: PartnerClient, refused: str, caplog: pytest.LogCaptureFixture
) -> None:
    for request_id in (refused, str(uuid.uuid4())):
        page = fill_in(request_id, sandbox.secret)
        assert request_id in page.source
        assert sandbox.secret not in page.source
    assert sandbox.secret not in caplog.text


def test_one_at_a_time(sandbox: PartnerClient, refused: str) -> None:
    with doctor_page.diagnosing:
        assert ask(refused, sandbox.secret).status == 503
    assert ask(refused, sandbox.secret).status == 200


def test_without_the_database_it_says_so(sandbox: PartnerClient, refused: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OperationalError

    monkeypatch.setattr(request_by_id, "find", fail)
    assert ask(refused, sandbox.secret).status == 503
    assert ask("", sandbox.secret).status == 400
    assert not doctor_page.diagnosing.locked()


@pytest.mark.parametrize("fields", [{"requestId": 1, "secret": "x"}, {"requestId": ["x"]}, {"secret": "x"}, {}])
def test_other_types_are_refused(fields: dict[str, object]) -> None:
    body = json.dumps(fields).encode()
    assert in_process("POST", PATH, {"Content-Type": "application/json"}, body).status == 400
