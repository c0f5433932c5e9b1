"""Staff pages as in production, behind a TLS proxy."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from config.serve import THREADS
from tests.slow.live.conftest import Server, serving


def begun_and_not_read(server: Server, path: str) -> socket.socket:
    """A request whose response waits in buffers as small as there are."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.connect(("127.0.0.1", server.port))
    connection.sendall(b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-Proto: https\r\n\r\n" % path.encode())
    assert connection.recv(12) == b"HTTP/1.1 200"
    return connection


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service with a large static file."""
    folder = tmp_path_factory.mktemp("static")
    # More than connections hold, as files of pages may be one day.
    (folder / "large.css").write_bytes(b"a" * 8 * 1024 * 1024)
    (folder / "settings_with_a_file.py").write_text(
        f"from tests.server_settings import *\nSTATICFILES_DIRS = [{str(folder)!r}]\n"
        "WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = True\n"
        "STORAGES['staticfiles'] = {'BACKEND': 'django.contrib.staticfiles.storage.StaticFilesStorage'}\n"
    )
    environment = {"DJANGO_SETTINGS_MODULE": "settings_with_a_file", "PYTHONPATH": str(folder)}
    with serving(**environment) as running:
        yield running


def test_a_client_that_does_not_read_a_static_file_delays_no_others(server: Server) -> None:
    with ExitStack() as stack:
        for _ in range(2 * THREADS):
            stack.enter_context(begun_and_not_read(server, "/static/large.css"))
        assert server.transport("GET", "/v1/ping", {}, b"").status == 401


def test_staff_are_sent_to_https(server: Server) -> None:
    response = server.transport("GET", "/admin/", {}, b"")
    assert (response.status, response.header("Location")) == (301, f"https://127.0.0.1:{server.port}/admin/")


def test_pages_have_hsts_and_a_strict_permissions_policy(server: Server) -> None:
    response = server.transport("GET", "/admin/", {"X-Forwarded-Proto": "https"}, b"")
    assert response.status == 302
    assert response.header("Strict-Transport-Security") == "max-age=31536000; includeSubDomains; preload"
    assert "frame-ancestors 'none'" in (response.header("Content-Security-Policy") or "")
    assert response.header("X-Frame-Options") == "DENY"
