"""The size, media type and JSON of bodies: contract, section 1."""

import gzip
import io
import json

import pytest

from tests import factories
from tests.support.client import PartnerClient, in_process
from tests.support.responses import assert_error, failing_fields
from users.models import User

LIMIT = 64 * 1024
TARGETS = {"POST": "/v1/users", "PATCH": "/v1/users/ada"}


class Unreadable:
    """A body that nobody may read."""

    def read(self, size: int = -1) -> bytes:
        raise AssertionError("The body was read.")

    readline = read


def test_a_body_declared_too_large_is_not_read(api: PartnerClient) -> None:
    headers = api.headers("POST", "/v1/users", b"", key=None, timestamp=None, secret=None)
    response = in_process("POST", "/v1/users", headers | {"Content-Length": "10000000"}, b"", Unreadable())
    assert failing_fields(response, 413) == []


@pytest.mark.parametrize("length", ["65537", "9" * 30])
def test_a_length_over_64_kib_is_refused_even_unsigned(db: None, length: str) -> None:
    response = in_process("PATCH", "/v1/users/ada", {"Content-Length": length}, b"", Unreadable())
    assert failing_fields(response, 413) == []


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


def test_json_in_utf8_is_taken(api: PartnerClient) -> None:
    for media_type in (
        *("application/json", "Application/JSON", "application/json;", " application/json ; charset=utf-8"),
        *("application/json;charset=UTF-8", 'application/json; charset="utf-8"'),
        "application/json; version=1; charset=utf-8",
    ):
        response = api.post("/v1/users", factories.user_body(), headers={"Content-Type": media_type})
        assert response.status == 201, media_type


OTHER_TYPES = (
    *(None, "", "text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"),
    *("application/merge-patch+json", "application/jsonx", "application/json, application/json", "*/*"),
    *("application/json; charset=latin-1", "application/json; charset=utf-16", "application/json; charset="),
    *("application/json; charset", "application/json; charset=utf-8; charset=latin-1"),
)


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_another_media_type_is_refused(api: PartnerClient, user: User, method: str) -> None:
    for media_type in OTHER_TYPES:
        response = api.send(method, TARGETS[method], factories.user_body(), headers={"Content-Type": media_type})
        assert failing_fields(response, 415) == [], media_type


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_an_encoded_body_is_refused_and_the_response_says_so(api: PartnerClient, user: User, method: str) -> None:
    body = gzip.compress(json.dumps(factories.user_body()).encode())
    for coding in ("gzip", "deflate", "br", "zstd", "GZIP", "identity, gzip", "x", "*"):
        response = api.send(method, TARGETS[method], body, headers={"Content-Encoding": coding})
        assert failing_fields(response, 415) == [], coding
        assert "Content-Encoding" in response.json()["message"], coding


def test_identity_is_no_encoding(api: PartnerClient) -> None:
    for coding in ("identity", "Identity", "", "identity, identity"):
        response = api.post("/v1/users", factories.user_body(), headers={"Content-Encoding": coding})
        assert response.status == 201, coding


def test_an_encoding_is_checked_with_the_media_type(api: PartnerClient) -> None:
    encoded = {"Content-Encoding": "gzip"}
    assert_error(api.send("POST", "/v1/users", b"{}", headers=encoded, secret="wrong"), 401)
    assert failing_fields(api.send("POST", "/v1/users", b"{}", headers=encoded, key="1"), 415) == []
    assert api.get("/v1/ping", headers=encoded).status == 200


def test_neither_accept_nor_a_media_type_of_a_read_is_looked_at(api: PartnerClient) -> None:
    response = api.get("/v1/ping", headers={"Accept": "text/html", "Content-Type": "text/plain"})
    assert (response.status, response.header("Content-Type")) == (200, "application/json")


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


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_body_that_is_no_json_object_is_a_bad_request(api: PartnerClient, user: User, method: str) -> None:
    for name, body in MALFORMED_BODIES.items():
        assert failing_fields(api.send(method, TARGETS[method], body)) == [], name
    assert User.objects.get().city == "Toronto"


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_hostile_member_is_named(api: PartnerClient, user: User, method: str) -> None:
    for case, (body, name) in NAMED_IN_BODIES.items():
        assert name in failing_fields(api.send(method, TARGETS[method], body)), case
    assert User.objects.get().city == "Toronto"


def test_thousands_of_unknown_fields_are_all_named(api: PartnerClient, user: User) -> None:
    names = [f"x{number:04}" for number in range(4000)]
    assert failing_fields(api.patch("/v1/users/ada", dict.fromkeys(names, 1))) == names


def test_the_form_of_the_json_does_not_matter(api: PartnerClient, user: User) -> None:
    assert api.patch("/v1/users/ada", b'\n\t{ "\\u0063ity" :\r"Montr\\u00e9al \\ud83d\\ude00" }  ').status == 200
    assert User.objects.get().city == "Montréal 😀"


def test_the_message_has_the_position_where_the_parser_gives_one(api: PartnerClient) -> None:
    for body, ending in {
        b'{"city": "\xc3\xa9\n': " See line 1, column 12.",
        b'{\n "city": 1 2}': " See line 2, column 12.",
        b'{\n "city": "\xff"}': "",
        b'{"age": NaN}': "",
    }.items():
        message = api.post("/v1/users", body).json()["message"]
        assert message == f"The body is not valid JSON in UTF-8.{ending}", body
