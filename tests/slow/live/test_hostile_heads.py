"""Request heads made to be expensive or to fail, sent without a key."""

import pytest

from tests.slow.live.conftest import Server
from tests.support.client import PartnerClient
from tests.test_over_the_wire import exchange

Servers = tuple[Server, Server]

PATHS = ["/docs/", "/openapi.json", "/admin/account/login/", "/admin/", "/nothing", "/v1/ping", "/v1/users"]
# Each would be decoded by a codec that the sender names; the first of them does not exist.
CONTENT_TYPES = [
    "text/plain; x*=no-such-codec''a",
    "text/plain; x*=punycode''" + "a" * 10_000,
    "text/plain; x*0*=undefined''a; x*1=b",
    "multipart/form-data; boundary*=no-such-codec''a",
    "multipart/form-data; boundary=a; charset=no-such-codec",
    "application/x-www-form-urlencoded; charset=punycode",
    "application/x-www-form-urlencoded; charset=hex",
    "application/json; x*=no-such-codec''a",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_content_type_makes_a_path_fail(servers: Servers, method: str, path: str) -> None:
    for content_type in CONTENT_TYPES:
        headers = {"X-Forwarded-Proto": "https", "Content-Type": content_type}
        response = servers[0].transport(method, path, headers, b"--a\r\n\r\n" if method == "POST" else b"")
        assert response.status < 500, content_type
        assert response.header("X-Request-Id"), content_type


def test_a_part_of_a_form_names_no_codec_either(servers: Servers) -> None:
    form = b"--a\r\nContent-Disposition: form-data; name*=no-such-codec''a\r\n\r\nb\r\n--a--\r\n"
    headers = {"X-Forwarded-Proto": "https", "Content-Type": "multipart/form-data; boundary=a"}
    response = servers[0].transport("POST", "/admin/account/login/", headers, form)
    assert (response.status, bool(response.header("X-Request-Id"))) == (403, True)  # without a CSRF token


@pytest.mark.parametrize(
    "content_type", ["application/json; x*=no-such-codec''a", "application/json; x=y", "Application/JSON"]
)
def test_a_media_type_is_read_without_its_other_parameters(
    clients: tuple[PartnerClient, PartnerClient], content_type: str
) -> None:
    response = clients[0].send("POST", "/v1/users", {}, headers={"Content-Type": content_type})
    assert response.status == 400


@pytest.mark.parametrize("path", PATHS)
def test_a_head_of_32_kib_is_refused_by_the_server_itself(servers: Servers, path: str) -> None:
    start = b"GET %b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" % path.encode()
    one_field = b"X-Padding: %b\r\n" % (b"a" * 32 * 1024)
    many_fields = b"".join(b"X-Padding-%d: a\r\n" % number for number in range(90)) + b"X: %b\r\n" % (b"a" * 32 * 1024)
    assert [exchange(servers[0], start + fields + b"\r\n")[0] for fields in (one_field, many_fields)] == [431, 431]


def test_a_head_that_is_large_and_well_is_answered(servers: Servers) -> None:
    start = b"GET /docs/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n"
    assert exchange(servers[0], start + b"X-Padding: %b\r\n\r\n" % (b"a" * 15 * 1024))[0] == 200


@pytest.mark.parametrize(
    ("path", "headers", "status", "heading"),
    [
        ("/admin/account/login/", {"Host": "evil.example"}, 400, b"<h1>Bad request</h1>"),
        ("/nothing", {}, 404, b"Page not found"),
        ("/static/nothing.css", {}, 404, b"Page not found"),
    ],
)
def test_a_page_of_an_error_is_the_product_s_own(
    servers: Servers, path: str, headers: dict[str, str], status: int, heading: bytes
) -> None:
    response = servers[0].transport("GET", path, {"X-Forwarded-Proto": "https"} | headers, b"")
    assert (response.status, heading in response.body, bool(response.header("X-Request-Id"))) == (status, True, True)
