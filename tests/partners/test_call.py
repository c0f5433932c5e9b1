"""`manage.py call`: a signed request to a running service."""

import json
import socket
import socketserver
import threading
from collections.abc import Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from django.db import connections

from partners.authentication import keys
from partners.management.commands.call import default_base_url, encode_target
from partners.models import Partner
from tests.factories import user_body
from tests.support.commands import outcome, printed, refusal, run


class Quiet(WSGIRequestHandler):
    """Does not write a line for each request."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


def serve(server: WSGIServer) -> None:
    try:
        server.serve_forever(poll_interval=0.01)
    finally:
        connections.close_all()


@pytest.fixture(scope="module")
def base_url(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """Where the service itself answers, in a thread, which may look at the database after the test has its response."""
    from config.wsgi import application

    with django_db_blocker.unblock(), make_server("127.0.0.1", 0, application, handler_class=Quiet) as server:
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def credentials(committed_partner: Partner, base_url: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The options that say where to send and who signs."""
    issued = keys.issue(partner=committed_partner)
    monkeypatch.delenv("PSI_API_KEY", raising=False)
    monkeypatch.delenv("PSI_SECRET", raising=False)
    return ("--base-url", base_url, "--api-key", issued.api_key, "--secret", issued.secret)


def test_a_call_is_signed_and_answered(credentials: tuple[str, ...], committed_partner: Partner) -> None:
    response = outcome("call", "GET", "/v1/ping", *credentials)
    assert response.keys() == {"status", "headers", "body"}
    assert (response["status"], response["body"]["partner"]) == (200, committed_partner.slug)
    assert response["headers"]["Cache-Control"] == "no-store"
    # People see the status and the body.
    shown = printed("call", "get", "/v1/ping", *credentials)
    status, *body = shown.splitlines()
    assert (status, json.loads("\n".join(body))["partner"]) == ("200 OK", committed_partner.slug)
    assert credentials[-1] not in shown


def test_key_and_secret_need_not_stand_on_the_command_line(
    credentials: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, url, _, api_key, _, secret = credentials
    monkeypatch.setenv("PSI_API_KEY", api_key)
    monkeypatch.setenv("PSI_SECRET", secret)
    assert outcome("call", "GET", "/v1/ping", "--base-url", url)["status"] == 200


def test_nothing_to_sign_with_is_one_line(credentials: tuple[str, ...]) -> None:
    assert "PSI_SECRET" in refusal("call", "GET", "/v1/ping", *credentials[:4])


def test_an_answer_that_is_an_error_is_an_answer(credentials: tuple[str, ...]) -> None:
    end = run("call", "GET", "/v1/users/nobody", *credentials, "--json")
    assert (end.status, end.errors) == (0, "")
    assert json.loads(end.output)["body"]["error"] == "not_found"


def test_a_path_may_be_typed_percent_encoded_and_as_it_is(credentials: tuple[str, ...]) -> None:
    for external_id in ("a b", "né", "50%", "q?x", "a#b", "a+b&c=d", "%41"):
        body = json.dumps(user_body(externalId=external_id))
        created = outcome("call", "POST", "/v1/users", "--data", body, *credentials)
        assert created["status"] == 201, external_id
        # A question mark would begin the query, and an escape is one.
        as_it_is = [] if external_id in {"q?x", "%41"} else [f"/v1/users/{external_id}"]
        for target in (created["headers"]["Location"], *as_it_is):
            assert outcome("call", "GET", target, *credentials)["body"].get("externalId") == external_id


def test_every_query_is_signed_as_it_is_sent(credentials: tuple[str, ...]) -> None:
    for query in ("", "?", "?limit=1", "?x=a b&x=é&&y", "?x=%20+%zz", "?a/b=?c"):
        assert outcome("call", "GET", f"/v1/ping{query}", *credentials)["status"] == 200, query


def test_a_call_under_an_idempotency_key_is_replayed(credentials: tuple[str, ...]) -> None:
    once = ("--data", json.dumps(user_body()), "--idempotency-key", "3f1c2b7e-8d4a-4c55-9b1e-6a7f0e2d9c10")
    first = outcome("call", "POST", "/v1/users", *once, *credentials)
    again = outcome("call", "POST", "/v1/users", *once, *credentials)
    assert (first["status"], again["body"]) == (201, first["body"])
    assert again["headers"]["Idempotent-Replayed"] == "true"


def test_a_body_is_sent_unchanged(credentials: tuple[str, ...]) -> None:
    response = outcome("call", "POST", "/v1/users", "--data", '{"externalId": ', *credentials)
    assert (response["status"], response["body"]["fieldErrors"]) == (400, [])


def test_a_wrong_secret_is_unauthorized(credentials: tuple[str, ...]) -> None:
    assert outcome("call", "GET", "/v1/ping", *credentials[:5], "psi_secret_other")["status"] == 401


@pytest.mark.parametrize(
    "arguments",
    [
        ("GET", "v1/ping"),
        ("GET", "/v1/%FF"),
        ("GET", "/v1/ping?x=%C3"),
        ("G ET", "/v1/ping"),
        ("GET", "/v1/ping", "--idempotency-key", "é"),
    ],
)
def test_invalid_arguments_are_a_usage_error(arguments: tuple[str, ...]) -> None:
    end = run("call", *arguments)
    assert (end.status, end.output) == (2, "")
    assert "Traceback" not in end.errors


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("--base-url", url) for url in ("localhost:8000", "http://host:port", "http://h:70000", "https://[:::::]")),
        *(("--base-url", url) for url in ("http://a..b", "http://127.0.0.1:1/é")),
        ("--api-key", "two\nlines"),
    ],
)
def test_a_bad_setting_is_one_line(credentials: tuple[str, ...], name: str, value: str) -> None:
    said = refusal("call", "GET", "/v1/ping", *credentials, name, value)
    assert {"--base-url": "--base-url is no URL", "--api-key": "PSI_API_KEY"}[name] in said


class Rude(socketserver.BaseRequestHandler):
    """Hangs up without a response."""

    def handle(self) -> None:
        """Reads and says nothing."""
        self.request.recv(65536)


def test_no_answer_is_one_line(base_url: str) -> None:
    signed = ("--api-key", "k", "--secret", "s")
    with socketserver.TCPServer(("127.0.0.1", 0), Rude) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert refusal("call", "GET", "/v1/ping", "--base-url", url, *signed).startswith(f"{url}: no response: ")
        thread.join()
    with socket.socket() as unused:  # nobody listens there
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        assert "refused" in refusal("call", "GET", "/v1/ping", "--base-url", url, *signed)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8123"),
        ("::1", "http://[::1]:8123"),
        ("partners.example", "http://partners.example:8123"),
    ],
)
def test_the_default_base_url_comes_from_the_settings(settings: Any, host: str, url: str) -> None:
    settings.HOST, settings.PORT = host, 8123
    assert default_base_url() == url


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("/v1/users/a%2fb", "/v1/users/a%2fb"),
        ("/v1/users/a b%2", "/v1/users/a%20b%252"),
        ("/v1/ping?q=é&r=?/", "/v1/ping?q=%C3%A9&r=?/"),
        ("/v1/users/..", "/v1/users/.."),
    ],
)
def test_a_target_is_encoded_where_it_must_be_and_only_there(typed: str, sent: str) -> None:
    assert encode_target(typed) == sent
    assert encode_target(sent) == sent


def test_a_path_of_the_base_url_is_sent_and_not_signed(credentials: tuple[str, ...]) -> None:
    # The service has no such path; had the prefix gone lost, it would have answered 200.
    response = outcome("call", "GET", "/ping", *credentials, "--base-url", f"{credentials[1]}/v1/")
    assert response["status"] == 401
