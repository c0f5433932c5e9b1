"""Rules for every request under /v1: contract, section 1."""

import gc
import json
import weakref
from collections.abc import Callable
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.signals import request_finished, request_started
from django.dispatch import Signal
from django.http import BadHeaderError, HttpResponse
from pytest_django.fixtures import Settings

from partners.api.base import IdempotencyKeyItem
from partners.api.errors import BadRequestError
from partners.api.response import JsonResponse
from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient, Response, in_process
from tests.support.responses import assert_error, failing_fields

LIMIT = 64 * 1024
MINOR = "2020-01-01"
UPDATE_CHECKS = [
    ("path", 404, None),
    ("method", 405, []),
    ("size", 413, []),
    ("authentication", 401, None),
    ("rate limit", 429, None),
    ("media type", 415, []),
    ("idempotency key", 400, ["Idempotency-Key"]),
    ("externalId in the path", 400, ["externalId"]),
    ("existence", 404, None),
    ("body", 400, ["email"]),
    ("age", 422, None),
]
CREATE_CHECKS = [
    *UPDATE_CHECKS[:7],
    ("body", 400, ["email"]),
    ("age", 422, None),
    ("conflict", 409, None),
]


def send_failing(api: PartnerClient, wrong: set[str], target: str, method: str, body: dict[str, Any]) -> Response:
    """A request that fails these checks, of those that do not depend on the endpoint."""
    if "body" in wrong:
        body["email"] = "nobody"
    if "age" in wrong:
        body["dateOfBirth"] = MINOR
    padding = LIMIT if "size" in wrong else 0
    return api.send(
        "DELETE" if "method" in wrong else method,
        target.replace("/users", "/nowhere") if "path" in wrong else target,
        json.dumps(body).encode() + b" " * padding,
        secret="wrong" if "authentication" in wrong else None,
        key="no uuid" if "idempotency key" in wrong else str(uuid4()),
        headers={"Content-Type": "text/plain" if "media type" in wrong else "application/json"},
    )


def use_up_the_limit(api: PartnerClient) -> None:
    Partner.objects.update(rate_limit="1/hour")
    assert api.get("/v1/ping").status == 200


@pytest.mark.parametrize(
    ("method", "checks"),
    [
        pytest.param(method, checks[number:], id=f"{method} {checks[number][0]}")
        for method, checks in (("PATCH", UPDATE_CHECKS), ("POST", CREATE_CHECKS))
        for number in range(len(checks))
    ],
)
def test_of_the_checks_that_a_write_fails_the_first_answers(
    api: PartnerClient, create_user: Callable[..., Response], method: str, checks: list[Any]
) -> None:
    create_user(externalId="ada")
    wrong = {name for name, *_ in checks}
    if "rate limit" in wrong:
        use_up_the_limit(api)
    external_id = "%07" if "externalId in the path" in wrong else "bob" if "existence" in wrong else "ada"
    target = f"/v1/users/{external_id}" if method == "PATCH" else "/v1/users"
    body = {} if method == "PATCH" else factories.user_body(externalId="ada")
    response = send_failing(api, wrong, target, method, body)
    _name, status, fields = checks[0]
    assert (failing_fields(response, status) if "fieldErrors" in assert_error(response, status) else None) == fields


def test_a_request_that_fails_no_check_succeeds(api: PartnerClient, create_user: Callable[..., Response]) -> None:
    create_user(externalId="ada")
    assert send_failing(api, set(), "/v1/users/ada", "PATCH", {}).status == 200
    assert send_failing(api, set(), "/v1/users", "POST", factories.user_body()).status == 201


UNKNOWN_PATHS = [
    *("/v1", "/v1/", "/v1/?limit=5", "/v1//", "/v1//users", "/v1/Users", "/v1/users/", "/v1/users//transactions"),
    *("/v1/users/a/b", "/v1/users/a%2Fb", "/v1/users/a/transactions/", "/v1/users/a/documents/b/c", "/v1/users%0A"),
    *("/v1/%0A", "/v1/ping/", "/v1/ping%0A", "/v1/users/a/transactions%0A", "/v1/%FF", "/v1/admin/", "/v1/../v1/ping"),
]


@pytest.mark.parametrize("debug", [False, True], ids=["", "debug"])
def test_an_unknown_path_is_not_found_even_unsigned(db: None, settings: Settings, *, debug: bool) -> None:
    settings.DEBUG = debug
    for method, target in product(("GET", "POST", "OPTIONS"), UNKNOWN_PATHS):
        response = in_process(method, target, {}, b"")
        assert assert_error(response, 404)["error"] == "not_found", (method, target)


@pytest.mark.parametrize("target", ["/v1users", "/v1%0A", "/", "/v2/users", "/admin/login/"])
def test_a_path_outside_v1_is_not_handled_by_the_api(db: None, target: str) -> None:
    assert in_process("GET", target, {"Host": "localhost"}, b"").header("Content-Type") != "application/json"


@pytest.mark.parametrize("target", ["/v1/ping", "/v1/users/ada", "/v1/nowhere"])
@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
def test_every_answer_has_an_id_of_ours_and_is_not_stored(api: PartnerClient, target: str, *, signed: bool) -> None:
    sent = {"X-Request-Id": "11111111-2222-4333-8444-555555555555"}
    responses = [api.get(target, headers=sent) if signed else in_process("GET", target, sent, b"") for _ in range(2)]
    found = {UUID(response.header("X-Request-Id") or "") for response in responses}
    assert len(found - {UUID(sent["X-Request-Id"])}) == 2
    assert {response.header("Cache-Control") for response in responses} == {"no-store"}


def test_the_log_has_the_route_and_no_personal_data(
    api: PartnerClient, create_user: Callable[..., Response], caplog: pytest.LogCaptureFixture
) -> None:
    create_user(externalId="ada-byron-1815")
    api.get("/v1/users/ada-byron-1815?email=ada@example.com")
    assert "v1/users/<str:external_id>" in caplog.text
    assert not any(told in caplog.text for told in ("ada-byron", "example.com", "King St"))


REQUESTS: list[Callable[[PartnerClient], Response]] = [
    lambda api: api.get("/v1/users/ada"),
    lambda api: api.get("/v1/users/ada/transactions"),
    lambda api: api.post("/v1/users", factories.user_body(externalId=str(uuid4())), key=str(uuid4())),
    lambda api: api.patch("/v1/users/ada", {"city": str(uuid4())}, key=str(uuid4())),
]


@pytest.mark.parametrize("target", ["/v1/ping", "/v1/unknown", "/docs"])
def test_django_sends_its_signals_around_every_request(api: PartnerClient, target: str) -> None:
    sent: list[Signal] = []

    def receive(signal: Signal, **_: object) -> None:
        sent.append(signal)

    for signal in (request_started, request_finished):
        signal.connect(receive)
    try:
        in_process("GET", target, api.headers("GET", target, b"", key=None, timestamp=None, secret=None), b"")
    finally:
        for signal in (request_started, request_finished):
            signal.disconnect(receive)
    assert sent == [request_started, request_finished]


def test_a_request_leaves_nothing_to_the_garbage_collector(partner: Partner) -> None:
    """A collection of everything that is loaded holds up requests for tens of milliseconds."""
    api = factories.client_of(partner, in_process)
    api.post("/v1/users", factories.user_body(externalId="ada"))
    for send in REQUESTS:
        assert send(api).status in {200, 201}  # what the first one loads is not looked at
    gc.collect()
    gc.disable()
    try:
        for send in REQUESTS:
            send(api)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = {f"{type(found).__module__}.{type(found).__qualname__}" for found in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    ours = ("config.", "partners.", "users.", "transactions.", "django.", "rest_framework.")
    assert not [name for name in left if name.startswith(ours)]


class _Request:
    """Stands for a request, which a traceback would keep."""


def test_a_refused_request_is_not_kept() -> None:
    request = _Request()
    kept = weakref.ref(request)
    with pytest.raises(BadRequestError):
        IdempotencyKeyItem().get(request, "no-uuid")  # type: ignore[arg-type]
    del request
    gc.collect()
    assert kept() is None


# JsonResponse behaves like Django's HttpResponse


HEADERS = {"Content-Type": "application/json", "Content-Length": "2", "Location": "/v1/users/a"}


def test_it_has_the_attributes_of_django_s_response() -> None:
    django_s = HttpResponse(b"{}", status=201, headers=HEADERS)
    ours = JsonResponse(201, b"{}", {"Location": "/v1/users/a"})
    assert vars(ours).keys() == vars(django_s).keys()
    for name in vars(django_s).keys() - {"headers", "cookies"}:
        assert vars(ours)[name] == vars(django_s)[name], name
    assert type(ours.cookies) is type(django_s.cookies)
    assert vars(ours.headers).keys() == vars(django_s.headers).keys()
    assert dict(ours.headers._store) == dict(django_s.headers._store)
    assert (ours.serialize(), ours.content, ours.reason_phrase) == (
        django_s.serialize(),
        django_s.content,
        django_s.reason_phrase,
    )
    assert list(ours.items()) == list(django_s.items())
    assert ours.charset == django_s.charset


@pytest.mark.parametrize("value", ["a\nb", "a\rb"])
def test_no_header_holds_a_line_end(value: str) -> None:
    response = JsonResponse(200, b"{}")
    with pytest.raises(BadHeaderError):
        response["X"] = value
