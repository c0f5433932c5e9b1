"""Staff's pages as production serves them, behind a proxy that ends TLS."""

from tests.live.conftest import Server

Servers = tuple[Server, Server]


def test_staff_are_sent_to_https(servers: Servers) -> None:
    answer = servers[0].transport("GET", "/admin/", {}, b"")
    assert (answer.status, answer.header("Location")) == (301, f"https://127.0.0.1:{servers[0].port}/admin/")


def test_browsers_are_told_to_stay_with_https_and_to_allow_nothing_that_is_not_needed(servers: Servers) -> None:
    answer = servers[0].transport("GET", "/admin/", {"X-Forwarded-Proto": "https"}, b"")
    assert answer.status == 302
    assert answer.header("Strict-Transport-Security") == "max-age=31536000; includeSubDomains; preload"
    assert "frame-ancestors 'none'" in (answer.header("Content-Security-Policy") or "")
    assert answer.header("X-Frame-Options") == "DENY"
