"""What holds for every request under /v1, whoever sends it and whatever it holds: contract, section 1."""

import io
import json
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from pytest_django.fixtures import Settings

from partners.models import Partner
from tests import factories
from tests.answers import assert_error, failing_fields
from tests.client import PartnerClient, Response, in_process
from users import profile
from users.models import User

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


def ids(checks: list[Any]) -> list[str]:
    return [check[0] for check in checks]


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


@pytest.mark.parametrize(("check", "status", "fields"), UPDATE_CHECKS, ids=ids(UPDATE_CHECKS))
def test_of_the_checks_that_an_update_fails_the_first_answers(
    api: PartnerClient, create_user: Callable[..., Response], check: str, status: int, fields: list[str] | None
) -> None:
    create_user(externalId="ada")
    names = ids(UPDATE_CHECKS)
    wrong = set(names[names.index(check) :])
    if "rate limit" in wrong:
        use_up_the_limit(api)
    external_id = "%07" if "externalId in the path" in wrong else "bob" if "existence" in wrong else "ada"
    answer = send_failing(api, wrong, f"/v1/users/{external_id}", "PATCH", {})
    assert (failing_fields(answer, status) if "fieldErrors" in assert_error(answer, status) else None) == fields


@pytest.mark.parametrize(("check", "status", "fields"), CREATE_CHECKS, ids=ids(CREATE_CHECKS))
def test_of_the_checks_that_a_create_fails_the_first_answers(
    api: PartnerClient, create_user: Callable[..., Response], check: str, status: int, fields: list[str] | None
) -> None:
    create_user(externalId="ada")
    names = ids(CREATE_CHECKS)
    wrong = set(names[names.index(check) :])
    if "rate limit" in wrong:
        use_up_the_limit(api)
    answer = send_failing(api, wrong, "/v1/users", "POST", factories.user_body(externalId="ada"))
    assert (failing_fields(answer, status) if "fieldErrors" in assert_error(answer, status) else None) == fields


def test_a_request_that_fails_no_check_succeeds(api: PartnerClient, create_user: Callable[..., Response]) -> None:
    create_user(externalId="ada")
    assert send_failing(api, set(), "/v1/users/ada", "PATCH", {}).status == 200
    assert send_failing(api, set(), "/v1/users", "POST", factories.user_body()).status == 201


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "DELETE", "PUT", "TRACE", "CONNECT", "PROPFIND", "DISPATCH"])
@pytest.mark.parametrize(
    ("target", "allowed"),
    [
        ("/v1/ping", "GET"),
        ("/v1/users", "POST"),
        ("/v1/users/ada", "GET, PATCH"),
        ("/v1/users/ada/transactions", "GET"),
    ],
)
def test_other_methods_are_not_allowed_even_unsigned(db: None, method: str, target: str, allowed: str) -> None:
    answer = in_process(method, target, {}, b"")
    assert failing_fields(answer, 405) == []
    assert answer.header("Allow") == allowed


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/v1/users"),
        ("POST", "/v1/users/ada"),
        ("POST", "/v1/users/ada/transactions"),
        ("PATCH", "/v1/users"),
        ("POST", "/v1/ping"),
    ],
)
def test_a_method_of_another_path_is_not_allowed(api: PartnerClient, method: str, target: str) -> None:
    assert failing_fields(api.send(method, target), 405) == []


UNKNOWN_PATHS = [
    "/v1",
    "/v1/",
    "/v1/?limit=5",
    "/v1//",
    "/v1//users",
    "/v1/Users",
    "/v1/users/",
    "/v1/users//transactions",
    "/v1/users/a/b",
    "/v1/users/a%2Fb",
    "/v1/users/a/transactions/",
    "/v1/users/a/documents/b/c",
    "/v1/users%0A",
    "/v1/%0A",
    "/v1/ping/",
    "/v1/ping%0A",
    "/v1/users/a/transactions%0A",
    "/v1/%FF",
    "/v1/admin/",
    "/v1/../v1/ping",
]


@pytest.mark.parametrize("target", UNKNOWN_PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("debug", [False, True], ids=["", "debug"])
def test_an_unknown_path_is_not_found_even_unsigned(
    db: None, settings: Settings, method: str, target: str, *, debug: bool
) -> None:
    settings.DEBUG = debug
    assert assert_error(in_process(method, target, {}, b""), 404)["error"] == "not_found"


@pytest.mark.parametrize("target", ["/v1users", "/v1%0A", "/", "/v2/users", "/admin/login/"])
def test_what_is_not_under_v1_is_not_the_interface(db: None, target: str) -> None:
    assert in_process("GET", target, {"Host": "localhost"}, b"").header("Content-Type") != "application/json"


class Unreadable:
    """A body that nobody may read."""

    def read(self, size: int = -1) -> bytes:
        raise AssertionError("The body was read.")

    readline = read


def test_a_body_declared_too_large_is_not_read(api: PartnerClient) -> None:
    headers = api.headers("POST", "/v1/users", b"", key=None, timestamp=None, secret=None)
    answer = in_process("POST", "/v1/users", headers | {"Content-Length": "10000000"}, b"", Unreadable())
    assert failing_fields(answer, 413) == []


@pytest.mark.parametrize("length", ["65537", "9" * 30])
def test_a_length_over_64_kib_is_refused_even_unsigned(db: None, length: str) -> None:
    answer = in_process("PATCH", "/v1/users/ada", {"Content-Length": length}, b"", Unreadable())
    assert failing_fields(answer, 413) == []


def test_a_chunked_body_is_read_to_the_limit_and_no_further(api: PartnerClient) -> None:
    stream = io.BytesIO(b" " * 10_000_000)
    headers = {"Transfer-Encoding": "chunked", "Content-Length": ""}
    assert failing_fields(in_process("POST", "/v1/users", headers, b"", stream), 413) == []
    assert stream.tell() == LIMIT + 1


@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
@pytest.mark.parametrize(("size", "status"), [(LIMIT, 201), (LIMIT + 1, 413)])
def test_a_body_may_have_64_kib(api: PartnerClient, size: int, status: int, *, chunked: bool) -> None:
    body = json.dumps(factories.user_body()).encode().ljust(size)
    headers = {"Transfer-Encoding": "chunked", "Content-Length": ""} if chunked else {}
    assert api.post("/v1/users", body, headers=headers).status == status


@pytest.mark.parametrize(
    "media_type",
    [
        "application/json",
        "Application/JSON",
        "application/json;",
        " application/json ; charset=utf-8",
        "application/json;charset=UTF-8",
        'application/json; charset="utf-8"',
        "application/json; version=1; charset=utf-8",
    ],
)
def test_json_in_utf8_is_taken(api: PartnerClient, media_type: str) -> None:
    assert api.post("/v1/users", factories.user_body(), headers={"Content-Type": media_type}).status == 201


@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize(
    "media_type",
    [
        None,
        "",
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/merge-patch+json",
        "application/jsonx",
        "application/json, application/json",
        "*/*",
        "application/json; charset=latin-1",
        "application/json; charset=utf-16",
        "application/json; charset=",
        "application/json; charset",
        "application/json; charset=utf-8; charset=latin-1",
    ],
)
def test_another_media_type_is_refused(
    api: PartnerClient, create_user: Callable[..., Response], method: str, media_type: str | None
) -> None:
    create_user(externalId="ada")
    target = "/v1/users/ada" if method == "PATCH" else "/v1/users"
    answer = api.send(method, target, factories.user_body(), headers={"Content-Type": media_type})
    assert failing_fields(answer, 415) == []


def test_neither_accept_nor_a_media_type_of_a_read_is_looked_at(api: PartnerClient) -> None:
    answer = api.get("/v1/ping", headers={"Accept": "text/html", "Content-Type": "text/plain"})
    assert (answer.status, answer.header("Content-Type")) == (200, "application/json")


@pytest.mark.parametrize("target", ["/v1/ping", "/v1/users/ada", "/v1/nowhere"])
@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
def test_every_answer_has_an_id_of_ours_and_is_not_stored(api: PartnerClient, target: str, *, signed: bool) -> None:
    sent = {"X-Request-Id": "11111111-2222-4333-8444-555555555555"}
    answers = [api.get(target, headers=sent) if signed else in_process("GET", target, sent, b"") for _ in range(2)]
    found = {UUID(answer.header("X-Request-Id") or "") for answer in answers}
    assert len(found - {UUID(sent["X-Request-Id"])}) == 2
    assert {answer.header("Cache-Control") for answer in answers} == {"no-store"}


def member(name: str, value: str) -> bytes:
    """The JSON of a create's body with one member more, as text."""
    return json.dumps(factories.user_body()).removesuffix("}").encode() + f', "{name}": {value}}}'.encode()


MALFORMED_BODIES = {
    "empty": b"",
    "white space": b" \n",
    "array": b"[]",
    "string": b'"text"',
    "number": b"1",
    "true": b"true",
    "null": b"null",
    "no JSON": b"externalId=ada",
    "cut short": member("x", "1")[:-1],
    "trailing garbage": member("x", "1") + b"x",
    "two objects": b"{}{}",
    "trailing comma": b'{"city": "Ottawa",}',
    "single quotes": b"{'city': 'Ottawa'}",
    "comment": b"{} // nothing",
    "brackets without end": b"[" * 60_000,
    "brackets, nested": b'{"city": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
    "braces, nested": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "NaN": member("x", "NaN"),
    "Infinity": member("x", "Infinity"),
    "-Infinity": member("x", "-Infinity"),
    "integer of 5,000 digits": member("x", "9" * 5000),
    "leading zero": member("x", "01"),
    "invalid UTF-8": b'{"city": "\xff"}',
    "overlong UTF-8": b'{"city": "\xc0\x80"}',
    "surrogate in UTF-8": b'{"city": "\xed\xa0\x80"}',
    "UTF-16": '{"city": "Ottawa"}'.encode("utf-16"),
    "UTF-16 without a mark": '{"city": "Ottawa"}'.encode("utf-16-le"),
    "UTF-32": '{"city": "Ottawa"}'.encode("utf-32"),
    "byte order mark": b'\xef\xbb\xbf{"city": "Ottawa"}',
    "NUL between": b'{"city": "Ottawa"}\x00',
    "NUL in a string": b'{"city": "Otta\x00wa"}',
    "line feed in a string": b'{"city": "Otta\nwa"}',
    "bad escape": rb'{"city": "\x41"}',
}
NAMED_IN_BODIES = {
    "1e999": (member("x", "1e999"), "x"),
    "1e999 for a text": (b'{"city": 1e999}', "city"),
    "NUL escaped": (rb'{"city": "Otta\u0000wa"}', "city"),
    "lone surrogate": (rb'{"city": "\ud800"}', "city"),
    "lone surrogate in a name": (rb'{"\ud800": 1}', "?"),
    "NUL in a name": (rb'{"a\u0000": 1}', "a\0"),
    "no name": (b'{"": 1}', ""),
    "name twice": (b'{"city": "Ottawa", "city": "Ottawa"}', "city"),
    "name twice, one escaped": (rb'{"city": "Ottawa", "\u0063ity": "Ottawa"}', "city"),
    "unknown name twice": (b'{"x": 1, "x": 2}', "x"),
    "another letter case": (b'{"City": "Ottawa"}', "City"),
    "name of a class": (b'{"__proto__": {}}', "__proto__"),
    "column's name": (b'{"first_name": "Ada"}', "first_name"),
    "what the service sets": (b'{"status": "active"}', "status"),
    "objects, nested": (member("x", '{"a":' * 100 + "1" + "}" * 100), "x"),
}


@pytest.mark.parametrize("body", MALFORMED_BODIES.values(), ids=MALFORMED_BODIES)
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_body_that_is_no_json_object_is_a_bad_request(
    api: PartnerClient, create_user: Callable[..., Response], method: str, body: bytes
) -> None:
    create_user(externalId="ada")
    target = "/v1/users/ada" if method == "PATCH" else "/v1/users"
    assert failing_fields(api.send(method, target, body)) == []
    assert User.objects.get().city == "Toronto"


@pytest.mark.parametrize(("body", "name"), NAMED_IN_BODIES.values(), ids=NAMED_IN_BODIES)
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_hostile_member_is_named(
    api: PartnerClient, create_user: Callable[..., Response], method: str, body: bytes, name: str
) -> None:
    create_user(externalId="ada")
    target = "/v1/users/ada" if method == "PATCH" else "/v1/users"
    assert name in failing_fields(api.send(method, target, body))
    assert User.objects.get().city == "Toronto"


@pytest.mark.parametrize("body", [b"[" * 100_000, b" " * 10_000_000], ids=["100,000 brackets", "10 MB"])
def test_a_body_over_the_limit_is_refused(api: PartnerClient, body: bytes) -> None:
    assert failing_fields(api.post("/v1/users", body), 413) == []


def test_thousands_of_unknown_fields_are_all_named(api: PartnerClient, create_user: Callable[..., Response]) -> None:
    create_user(externalId="ada")
    names = [f"x{number:04}" for number in range(4000)]
    assert failing_fields(api.patch("/v1/users/ada", dict.fromkeys(names, 1))) == names


def test_the_form_of_the_json_does_not_matter(api: PartnerClient, create_user: Callable[..., Response]) -> None:
    create_user(externalId="ada")
    assert api.patch("/v1/users/ada", b'\n\t{ "\\u0063ity" :\r"Montr\\u00e9al \\ud83d\\ude00" }  ').status == 200
    assert User.objects.get().city == "Montréal 😀"


@pytest.mark.parametrize("debug", [False, True], ids=["", "debug"])
def test_a_crash_is_an_internal_error_that_tells_nothing(
    api: PartnerClient,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    *,
    debug: bool,
) -> None:
    def crash(**_: object) -> None:
        raise RuntimeError("Ada Byron lives at 100 King St W")

    settings.DEBUG = debug
    monkeypatch.setattr(profile, "find_user", crash)
    answer = api.get("/v1/users/ada")
    assert assert_error(answer, 500)["error"] == "internal_error"
    assert not any(told in answer.body for told in (b"Ada", b"Runtime", b"profile", b".py"))
    assert "builtins.RuntimeError" in caplog.text
    assert "King St" not in caplog.text


@pytest.mark.parametrize(
    ("method", "target"),
    [("GET", "/v1/ping"), ("GET", "/v1/users/ada"), ("POST", "/v1/users"), ("PATCH", "/v1/users/ada")],
)
@pytest.mark.parametrize(
    "failure",
    [psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable],
)
def test_without_the_database_the_service_is_unavailable(
    api: PartnerClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    method: str,
    target: str,
    failure: type[Exception],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise failure("connection to 10.0.0.1 refused: SELECT secret")

    with monkeypatch.context() as broken:
        broken.setattr(psycopg.Cursor, "execute", fail)
        answer = api.send(method, target, {} if method != "GET" else None)
    assert assert_error(answer, 503)["error"] == "internal_error"
    assert int(answer.header("Retry-After") or 0) >= 1
    assert b"10.0.0.1" not in answer.body
    assert "10.0.0.1" not in caplog.text


def test_a_broken_effect_leaves_nothing_behind(api: PartnerClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(*_: object) -> bytes:
        raise RuntimeError

    key, body = str(uuid4()), factories.user_body()
    with monkeypatch.context() as broken:
        broken.setattr("users.views.render", lose)
        assert_error(api.post("/v1/users", body, key=key), 500)
    assert not User.objects.exists()
    assert api.post("/v1/users", body, key=key).header("Idempotent-Replayed") is None


def test_the_log_names_the_route_and_nobody(
    api: PartnerClient, create_user: Callable[..., Response], caplog: pytest.LogCaptureFixture
) -> None:
    create_user(externalId="ada-byron-1815")
    api.get("/v1/users/ada-byron-1815?email=ada@example.com")
    assert "v1/users/<str:external_id>" in caplog.text
    assert not any(told in caplog.text for told in ("ada-byron", "example.com", "King St"))
