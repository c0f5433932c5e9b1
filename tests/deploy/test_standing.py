"""The proxy: TLS, headers, its log, and servers that are down."""

import http.client
import json
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from pytest_django import Settings

from partners.models import Partner
from tests import factories
from tests.deploy.asking import ask, comparable, direct_transport, head, over_tls
from tests.deploy.conftest import program
from tests.deploy.proxy import AUTHORITY, NAME, Proxy, running
from tests.slow.live.conftest import Server, free_port, serving
from tests.support.client import PartnerClient, Response, Transport
from tests.support.documents import LONG, add_document, path_of, stored_at
from tests.support.responses import assert_error
from tests.support.timeouts import WAIT_SECONDS
from transactions.models import Document
from users.models import User

LOGIN = "/admin/account/login/"
# Those of one address on one account before it has to wait.
ATTEMPTS = 5


@pytest.fixture
def client(proxy: Proxy, partner: Partner, servers: tuple[Server, Server]) -> PartnerClient:
    made = factories.client_of(partner, direct_transport(servers[0].port))
    return PartnerClient(made.api_key, made.secret, over_tls(proxy))


# What it says


@pytest.mark.parametrize(
    "target", ["/docs", "/docs/", "/openapi.json", "/docs/reference/", "/admin/", LOGIN, "/", "/nowhere"]
)
def test_pages_are_the_same_with_and_without_the_proxy(
    through: PartnerClient, direct: PartnerClient, target: str
) -> None:
    responses = [client.transport("GET", target, {}, b"") for client in (through, direct)]
    kept = [re.sub(rb'csrf\w+" value="\w+"', b"", response.body) for response in responses]
    assert responses[0].status == responses[1].status
    assert kept[0] == kept[1]
    for name in ("Content-Security-Policy", "Strict-Transport-Security", "Cache-Control", "Location"):
        assert responses[0].header(name) == responses[1].header(name)


@pytest.mark.parametrize("path", ["livez", "readyz", "metrics"])
@pytest.mark.parametrize("prefix", ["/", "/v1/../", "/v1/%2e%2e/", "/docs/../", "/./", "//", "/%2f", "/%6D/../"])
def test_health_and_metrics_are_not_public(proxy: Proxy, path: str, prefix: str) -> None:
    ways = [path, path + "?a=1", path + "/", "%" + path[:1].encode().hex() + path[1:], path + "%0A", path.upper()]
    found = [over_tls(proxy)("GET", prefix + way, {}, b"") for way in ways]
    assert {response.status for response in found} <= {400, 404}


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
def test_health_and_metrics_respond_to_the_network_by_address(servers: tuple[Server, Server], path: str) -> None:
    # A scraper names no host of ALLOWED_HOSTS, and uses no TLS.
    assert servers[0].transport("GET", path, {}, b"").status == 200


@pytest.mark.parametrize("target", ["/docs/", "/v1/ping", "/v1/%zz", "/.refused/bad_request"])
def test_the_proxy_hides_its_version(proxy: Proxy, target: str) -> None:
    response = over_tls(proxy)("GET", target, {}, b"")
    assert (response.header("Server"), b"nginx/" in response.body) == ("nginx", False)


def test_another_host_name_gets_no_handshake(proxy: Proxy) -> None:
    with (
        socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as plain,
        pytest.raises(ssl.SSLError, match="UNRECOGNIZED_NAME"),
    ):
        proxy.tls().wrap_socket(plain, server_hostname="elsewhere.example")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_current_tls_is_accepted(proxy: Proxy, version: ssl.TLSVersion) -> None:
    context = proxy.tls()
    context.minimum_version = context.maximum_version = version
    with (
        socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname=NAME) as connection,
    ):
        assert connection.version() == version.name.replace("_", ".")


def test_older_tls_is_refused(proxy: Proxy) -> None:
    context = proxy.tls()
    # Else it is this side that refuses.
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with (
        socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as plain,
        pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION"),
    ):
        context.wrap_socket(plain, server_hostname=NAME)


@pytest.mark.parametrize("target", ["/v1/ping?b=%2F&a=1", "/v1/users/a%2f%2e%2e", "/v1//ping"])
def test_a_signed_request_over_http_2_is_answered_as_over_http_1(
    proxy: Proxy, client: PartnerClient, target: str
) -> None:
    signed = client.headers("GET", target, b"", key=None, timestamp=None, secret=None)
    command = [program("curl"), "--silent", "--http2", "--path-as-is", "--cacert", str(proxy.folder / AUTHORITY)]
    command += ["--resolve", f"{NAME}:{proxy.port}:127.0.0.1", "--write-out", "\n%{http_version} %{http_code}"]
    command += [word for name, value in signed.items() for word in ("--header", f"{name}: {value}")]
    done = subprocess.run([*command, f"https://{NAME}:{proxy.port}{target}"], capture_output=True, check=True)
    assert done.stdout.rpartition(b"\n")[2].decode() == f"2 {client.get(target).status}"


def test_without_tls_browsers_are_redirected_and_partners_refused(proxy: Proxy) -> None:
    def plainly(target: str) -> Response:
        with socket.create_connection(("127.0.0.1", proxy.plain_port), timeout=10) as connection:
            return ask(connection, head("GET", target, {}))

    response = plainly("/docs?a=1")
    assert (response.status, response.header("Location")) == (301, f"https://{NAME}/docs?a=1")
    assert assert_error(plainly("/v1/ping"), 400)["fieldErrors"] == []


# Who asks


def test_failed_logins_are_counted_by_the_address_that_the_proxy_saw(proxy: Proxy) -> None:
    for number in range(ATTEMPTS):
        page = fail_to_log_in(over_tls(proxy, address="127.0.0.5"), "somebody", says=f"192.0.2.{number}")
        assert "not correct" in page
    told = [fail_to_log_in(over_tls(proxy, address=f"127.0.0.{n}"), "somebody", says="192.0.2.99") for n in (5, 6)]
    assert ["Too many failed login attempts" in page for page in told] == [True, False]


def fail_to_log_in(way: Transport, username: str, *, says: str) -> str:
    """Log in with a wrong password; return the page. says: a forged client address."""
    form_page = way("GET", LOGIN, {}, b"")
    cookie = (form_page.header("Set-Cookie") or "").partition(";")[0]
    found = re.search(rb'name="csrfmiddlewaretoken" value="(\w+)"', form_page.body)
    assert found
    form = urlencode({"login": username, "password": "wrong", "csrfmiddlewaretoken": found[1].decode()})
    headers = {
        "Cookie": cookie,
        "Referer": f"https://{NAME}{LOGIN}",
        "X-Forwarded-For": says,
        "Content-Type": "application/x-www-form-urlencoded",
    }
    response = way("POST", LOGIN, headers, form.encode())
    page = response.body.decode()
    assert response.status == 200, page
    return page


# What it logs


def logged(proxy: Proxy, count: int) -> list[dict[str, Any]]:
    """Wait for the log lines of a number of requests; return them by route."""
    deadline = time.monotonic() + WAIT_SECONDS
    while len(lines := proxy.access_log.splitlines()) < count:
        assert time.monotonic() < deadline, lines
        time.sleep(0.01)
    return sorted((json.loads(line) for line in lines), key=lambda line: str(line["route"]))


def test_log_lines_have_the_part_of_the_service_and_no_personal_data(
    nginx: str, servers: tuple[Server, Server], direct: PartnerClient
) -> None:
    marker = "marker-1d5b"
    with running(nginx, [servers[0].port]) as proxy:
        client = PartnerClient(direct.api_key, direct.secret, over_tls(proxy))
        client.post("/v1/users", factories.user_body(externalId=marker))
        known = client.get(f"/v1/users/{marker}/transactions?cursor={marker}")
        client.get(
            f"/v1/users/{marker}?{marker}", headers={"User-Agent": marker, "Referer": marker, "X-Api-Key": marker}
        )
        over_tls(proxy)("GET", f"/v1/users/{marker}%zz", {}, b"")
        lines = logged(proxy, 4)
        logs = proxy.access_log + proxy.error_log
    assert [line["route"] for line in lines] == ["/v1", "/v1", "/v1", "other"]
    assert known.header("X-Request-Id") in {line["request_id"] for line in lines}
    assert marker not in logs
    assert client.api_key not in logs


def test_partners_and_staff_are_forwarded_to_separate_ports(
    nginx: str, servers: tuple[Server, Server], direct: PartnerClient
) -> None:
    for_partners, for_staff = (server.port for server in servers)
    with running(nginx, [for_partners], for_staff=[for_staff]) as proxy:
        for target in ("/v1/ping", "/admin/", LOGIN, "/docs", "/static/none.css", "/"):
            over_tls(proxy)("GET", target, {}, b"")
        reached = {line["route"]: line["upstream"] for line in logged(proxy, 6)}
    assert reached.pop("/v1") == f"127.0.0.1:{for_partners}"
    assert reached == dict.fromkeys(("/admin", "/admin/account", "/docs", "/static", "other"), f"127.0.0.1:{for_staff}")


def test_a_failure_is_logged_without_the_path_too(nginx: str) -> None:
    with running(nginx, [free_port()]) as proxy:
        over_tls(proxy)("GET", "/v1/users/marker-77aa", {}, b"")
        (line,) = logged(proxy, 1)
        assert (line["status"], line["upstream_status"], line["route"]) == (503, "502", "/v1")
        assert "marker-77aa" not in proxy.access_log + proxy.error_log


# Bad days


def test_without_a_server_the_response_is_the_contracts_503(nginx: str) -> None:
    with running(nginx, [free_port()]) as proxy:
        response = over_tls(proxy)("POST", "/v1/users", {}, b"{}")
        assert assert_error(response, 503)["error"] == "internal_error"
        assert int(response.header("Retry-After") or 0) >= 1
        page = over_tls(proxy)("GET", "/docs", {}, b"")
        assert (page.status, page.header("Content-Type")) == (503, "text/plain")


def test_while_one_server_is_down_the_other_serves_all_requests(
    nginx: str, servers: tuple[Server, Server], direct: PartnerClient
) -> None:
    with running(nginx, [free_port(), servers[0].port]) as proxy:
        client = PartnerClient(direct.api_key, direct.secret, over_tls(proxy))
        responses = [client.post("/v1/users", factories.user_body()) for _ in range(20)]
    assert [response.status for response in responses] == [201] * 20


def test_errors_of_the_service_are_forwarded(through: PartnerClient, direct: PartnerClient) -> None:
    for ask_for in ("/v1/nowhere", "/v1/users/nobody", "/v1/ping?a=%FF"):
        assert comparable(through.get(ask_for)) == comparable(direct.get(ask_for))


# Documents


@pytest.fixture
def kept(tmp_path: Path, settings: Settings) -> Path:
    settings.STORAGES = stored_at(tmp_path.as_uri())
    return tmp_path


@pytest.fixture
def reader(nginx: str, django_db_setup: None, kept: Path, partner: Partner) -> Iterator[PartnerClient]:
    """Return a client, through a proxy, of a service with its documents in `kept`."""
    with (
        serving(ALLOWED_HOSTS=NAME, DOCUMENT_STORAGE_URL=kept.as_uri()) as server,
        running(nginx, [server.port]) as proxy,
    ):
        made = factories.client_of(partner, direct_transport(server.port))
        yield PartnerClient(made.api_key, made.secret, over_tls(proxy))


def test_a_document_is_complete_or_visibly_aborted(reader: PartnerClient, kept: Path) -> None:
    user = User.objects.get(pk=reader.post("/v1/users", factories.user_body()).json()["userId"])
    document: Document = add_document(user, LONG * 20)
    url = f"/v1/users/{user.external_id}/documents/{document.document_id}"
    assert reader.get(url).body == LONG * 20
    path_of(kept, document).write_bytes(LONG * 20 + b"!")
    with pytest.raises(http.client.IncompleteRead):
        reader.get(url)
