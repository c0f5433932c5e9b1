"""Requests in raw HTTP, as tools show them and as pasting changes them."""

import pytest

from partners.signing.parsing import MAX_LINES, NotUnderstoodError, parse


def test_line_ends_of_the_head_are_lf_or_crlf() -> None:
    head = ["POST /v1/users HTTP/1.1", "A: b", "C : no header", "D:\te\t"]
    for end in ("\n", "\r\n"):
        sent = parse(end.join([*head, "", '{"a":\r\n1}\n']))
        assert list(sent.headers) == [("A", "b"), ("D", "e")]
        assert sent.body == b'{"a":\r\n1}\n'


@pytest.mark.parametrize(
    ("line", "origin", "target"),
    [
        ("GET /v1/ping HTTP/1.1", "", "/v1/ping"),
        ("GET /v1/ping HTTP/2", "", "/v1/ping"),
        ("GET /v1/ping", "", "/v1/ping"),
        ("get   /v1/ping?a=b", "", "/v1/ping?a=b"),
        ("GET https://partners.example/gw/v1/ping#x HTTP/1.1", "https://partners.example", "/gw/v1/ping"),
        ("GET http://ada:word@[::1]:8000/v1/ping", "http://[::1]:8000", "/v1/ping"),
        ("GET /v1/users/a b?c=d e HTTP/1.1", "", "/v1/users/a b?c=d e"),
        ("GET https://partners.example?a", "https://partners.example", "/?a"),
    ],
)
def test_a_request_line_has_a_method_and_a_url(line: str, origin: str, target: str) -> None:
    sent = parse(f"\n{line}\n")
    assert (sent.method, sent.origin, sent.target) == ("GET", origin, target)


def test_the_origin_is_the_host_header_if_the_url_has_none() -> None:
    assert parse("GET /v1/ping HTTP/1.1\nhost: partners.example").origin == "https://partners.example"


@pytest.mark.parametrize(
    ("pasted", "length", "body"),
    [
        ("{}", "2", b"{}"),
        ("{}\n", "3", b"{}\n"),
        ("{}\n", "2", b"{}"),
        ("{\n}", "4", b"{\r\n}"),
        ("{\n\n}\n", "6", b"{\r\n\r\n}"),
        ("{\n}\n", "6", b"{\r\n}\r\n"),
        ("{}", "9", b"{}"),
        ("{é}", "4", "{é}".encode()),
    ],
)
def test_a_body_that_pasting_changed_is_restored_to_its_content_length(pasted: str, length: str, body: bytes) -> None:
    assert parse(f"POST /v1/users HTTP/1.1\nContent-Length: {length}\n\n{pasted}").body == body


def test_headers_of_one_name_arrive_joined() -> None:
    sent = parse("GET /v1/ping HTTP/1.1\nX-Api-Key: a\nx_api_key: b")
    assert sent.header("X-API-Key") == "a,b"


def test_the_log_of_curl_is_parsed_too() -> None:
    log = "*   Trying 127.0.0.1\n> GET /v1/ping HTTP/1.1\n> X-Api-Key: a\n>\n< HTTP/1.1 200 OK\n< X-Api-Key: b\n\n{}"
    sent = parse(log)
    assert (sent.target, sent.header("X-Api-Key"), sent.body) == ("/v1/ping", "a", b"")


@pytest.mark.parametrize(
    ("target", "prefix", "path"),
    [
        ("/v1/users/v1", "", "/v1/users/v1"),
        ("/gw/v1/users/v1?a=/v1/", "/gw", "/v1/users/v1"),
        ("/v1", "", "/v1"),
        ("/v10/ping", "", "/v10/ping"),
        ("/v10/v1/ping", "/v10", "/v1/ping"),
        ("/ping?next=/v1/ping", "", "/ping"),
    ],
)
def test_the_path_is_signed_from_v1_on(target: str, prefix: str, path: str) -> None:
    sent = parse(f"GET {target} HTTP/1.1")
    assert (sent.prefix, sent.path) == (prefix, path)


def test_lines_that_are_no_headers_are_one_finding() -> None:
    lines = ["GET /v1/ping HTTP/1.1", *["x"] * (MAX_LINES - 1)]
    (unreadable,) = parse("\n".join(lines)).findings
    assert unreadable["explanation"].startswith(f"Line 2 (and {MAX_LINES - 2} more lines) has no name")
    with pytest.raises(NotUnderstoodError, match=f"more than {MAX_LINES} lines"):
        parse("\n".join([*lines, "x"]))
