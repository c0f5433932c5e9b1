"""`manage.py doctor`: what is wrong with an installation, and what to do."""

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import connection, connections, transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from partners.authentication import keys
from partners.db import serving_role
from partners.models import Partner
from partners.monitoring import health, installation, probes
from partners.monitoring.found import Found, Result
from partners.monitoring.proxy_check import check_proxy
from tests import factories
from tests.conftest import database_url
from tests.live.conftest import free_port
from tests.support.approval_rules import no_rules_left, set_rule
from tests.support.commands import run
from tests.support.documents import folder, stored_at
from tests.support.redis_process import own_redis

__all__ = ("folder",)

NAMES = [
    *("settings", "database", "migrations", "grants", "clock", "evidence key", "deliverer", "events", "purge"),
    *("API keys", "second factors", "deciders", "approval rules", "storage"),
]


@pytest.fixture(autouse=True)
def of_this_test(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    """Read what the test has not committed, and wait for no deliverer."""
    connection.ensure_connection()
    monkeypatch.setattr(installation, "connect", lambda: nullcontext(connection.connection))
    monkeypatch.setattr(installation, "DELIVERER_SECONDS", 0.0)


def found(check: str, *arguments: str) -> tuple[str, str]:
    """The result and the text of the first line of this name."""
    lines = json.loads(run("doctor", "--json", *arguments).output)["checks"]
    return next((line["result"], line["text"]) for line in lines if line["check"] == check)


def test_each_check_has_a_line_and_what_fails_says_what_to_do() -> None:
    end = run("doctor", "--json")
    assert (end.status, end.errors) == (1, "")
    outcome = json.loads(end.output)
    assert list(dict.fromkeys(line["check"] for line in outcome["checks"])) == NAMES
    assert all(line["advice"] for line in outcome["checks"] if line["result"] != "ok")
    assert outcome["failure"] == sum(line["result"] == "failure" for line in outcome["checks"]) > 0
    text = run("doctor").output
    assert "failure  deliverer: deliver_events is not connected to the database.\n         → Start it" in text


def test_without_a_failure_the_exit_status_is_0(monkeypatch: pytest.MonkeyPatch) -> None:
    ok = Found(Result.WARNING, "Hm.", "See.")
    monkeypatch.setattr(installation, "_settings", lambda: iter(()))
    monkeypatch.setattr(installation, "_checks", {"one": lambda: ok})
    end = run("doctor")
    assert end.status == 0
    assert end.output.splitlines()[-3:] == ["warning  one: Hm.", "         → See.", "2 ok, 1 warnings, 0 failures."]


def test_debug_is_a_failure_and_settings_are_checked_without_it(settings: Settings) -> None:
    assert found("settings")[0] == "ok"
    settings.DEBUG = True
    assert found("settings") == ("failure", "DEBUG is true.")


def test_what_readyz_fails_for_is_a_failure_and_ends_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = {"database": health.OK, "migrations": "not applied: users.0009_new"}
    monkeypatch.setattr(health, "readiness", lambda: health.Health(checks, {"apiKeys": "undecryptable"}))
    assert found("migrations") == ("failure", "not applied: users.0009_new")
    assert found("apiKeys") == ("warning", "undecryptable")
    assert found("grants") == ("failure", "Not checked: see the failures above.")


def test_a_check_that_cannot_be_made_says_so_and_quotes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise psycopg.OperationalError("connection to 10.0.0.5 failed for psi_service")

    monkeypatch.setattr(installation, "connect", refuse)
    assert found("events") == ("failure", "Could not be checked: OperationalError.")


@pytest.mark.django_db(databases=[serving_role.SERVING, serving_role.OWNER])
def test_grants_are_compared_with_those_that_are_declared() -> None:
    assert found("grants") == ("ok", "The serving role has its privileges, and no others.")
    role = connection.settings_dict["USER"]
    owner = connections[serving_role.OWNER]
    for statement, differences in (
        (f"REVOKE SELECT ON users_user FROM {role}", (["SELECT on users_user"], [])),
        (f"GRANT DELETE ON users_userevent TO {role}", ([], ["DELETE on users_userevent"])),
    ):
        with transaction.atomic(using=serving_role.OWNER):
            with owner.cursor() as cursor:
                cursor.execute(statement)
            assert serving_role.differences(owner, role) == differences
            transaction.set_rollback(True, using=serving_role.OWNER)


@pytest.mark.parametrize(("ahead", "result"), [(0, "ok"), (3, "warning"), (-60, "failure")])
def test_the_clock_is_compared_with_the_databases(ahead: int, result: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = installation._database_time
    monkeypatch.setattr(installation, "_database_time", lambda: now() + ahead)
    assert found("clock")[0] == result


def test_the_clock_is_compared_with_that_of_redis(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    settings.REDIS_URL = f"redis://127.0.0.1:{port}/0"
    with own_redis(port, tmp_path):
        assert found("clock")[0] == "ok"
        monkeypatch.setattr(installation, "_redis_time", lambda: 0.0)
        result, text = found("clock")
    assert result == "failure"
    assert "that of Redis" in text


def test_the_storage_takes_a_file_and_keeps_none(folder: Path, settings: Settings, tmp_path: Path) -> None:
    assert found("storage")[0] == "ok"
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    (tmp_path / "file").touch()
    settings.STORAGES = stored_at((tmp_path / "file").as_uri())
    assert found("storage") == ("failure", "The storage of documents failed: NotADirectoryError.")


def test_the_evidence_key_is_named(settings: Settings) -> None:
    assert found("evidence key") == ("warning", "Evidence packs are unsigned.")
    settings.EVIDENCE_SIGNING_KEY = Ed25519PrivateKey.generate()
    assert found("evidence key")[0] == "ok"


def test_a_deliverer_is_known_by_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    # A transaction sees the sessions of its first look.
    monkeypatch.setattr(installation, "connect", probes.connect)
    assert found("deliverer")[0] == "failure"
    with psycopg.connect(database_url(serving_role.SERVING), application_name=installation.DELIVERER):
        assert found("deliverer")[0] == "ok"


def test_events_that_wait_are_a_failure(partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("events")[0] == "ok"
    monkeypatch.setattr(installation, "event_feed_lag", lambda _: 31.0)
    assert found("events") == ("failure", "The oldest event that is not in its feed is 31 s old.")
    monkeypatch.setattr(installation, "stopped_feeds", lambda _: [partner.slug])
    assert found("events") == ("failure", f"Feeds stopped: {partner.slug}.")


def test_a_purge_that_has_not_run_lately_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("purge") == ("warning", "purge_expired has never run to its end.")
    assert run("purge_expired").status == 0
    assert found("purge")[0] == "ok"
    later = timezone.now() + timedelta(hours=27)
    monkeypatch.setattr(installation, "timezone", SimpleNamespace(now=lambda: later))
    assert found("purge")[0] == "warning"


def test_the_last_key_of_a_partner_that_ends_soon_is_a_warning(partner: Partner) -> None:
    key = keys.issue(partner=partner, label="old", expires_at=timezone.now() + timedelta(days=3)).record
    result, text = found("API keys")
    assert result == "warning"
    assert f"{key.prefix} of {partner.slug}" in text
    keys.issue(partner=partner, label="new")
    assert found("API keys")[0] == "ok"


def test_staff_without_a_second_factor_are_named() -> None:
    staff = factories.StaffFactory.create(role="viewer")
    result, text = found("second factors")
    assert result == "warning"
    assert staff.username in text


def test_a_rule_needs_two_who_may_decide() -> None:
    assert found("deciders")[0] == "failure"
    factories.StaffFactory.create(role="reviewer")
    assert found("deciders")[0] == "ok"
    assert found("approval rules") == ("warning", "One person decides every move.")
    with no_rules_left():
        set_rule("always")
        assert found("deciders")[0] == "failure"
        assert found("approval rules") == ("ok", "Two people decide: pendingCompliance → active: always.")
        factories.StaffFactory.create(role="reviewer")
        assert found("deciders")[0] == "ok"


class Answers(BaseHTTPRequestHandler):
    """A proxy in front of a service. statuses: by path; 200 otherwise. strict: whether HSTS is sent."""

    protocol_version = "HTTP/1.1"
    statuses: dict[str, int] = {}  # noqa: RUF012 - replaced, never changed
    strict = True

    def do_GET(self) -> None:
        self.send_response(self.statuses.get(self.path, 200))
        self.send_header("Content-Length", "0")
        if self.strict:
            self.send_header("Strict-Transport-Security", "max-age=31536000")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing."""


REFUSED = {"/v1/ping": 401, "/readyz": 404, "/metrics": 404}


@contextmanager
def proxied(certified: str = "localhost", **behaviour: Any) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert(certified, not_after=behaviour.pop("ends", None)).configure_cert(context)
    handler = type("Proxy", (Answers,), {"statuses": REFUSED} | behaviour)
    with ThreadingHTTPServer(("localhost", 0), handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"https://localhost:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


AUTHORITY = trustme.CA()


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    AUTHORITY.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))


@pytest.mark.parametrize(
    ("behaviour", "result", "text"),
    [
        ({}, "ok", "The proxy answers as it should"),
        ({"certified": "other.example"}, "failure", "The certificate is not valid"),
        ({"ends": timezone.now() + timedelta(days=5)}, "warning", "ends in 4 days"),
        ({"statuses": REFUSED | {"/v1/ping": 502}}, "failure", "is answered with 502"),
        ({"statuses": REFUSED | {"/metrics": 200}}, "failure", "shows /readyz or /metrics"),
        ({"strict": False}, "failure", "without Strict-Transport-Security"),
    ],
)
def test_the_proxy_is_checked_where_its_url_is_given(
    behaviour: dict[str, Any], result: str, text: str, trusted: None
) -> None:
    with proxied(**behaviour) as url:
        line = found("proxy", "--url", url)
    assert line[0] == result
    assert text in line[1]


@pytest.mark.parametrize(
    "url", ["https://127.0.0.1:9", "https://h.example:99999", "https://h.example:x", "https://a..b", "https://[::1"]
)
def test_a_proxy_that_does_not_answer_is_a_failure(url: str) -> None:
    assert check_proxy(url).result == "failure"


def test_a_url_without_tls_is_refused() -> None:
    end = run("doctor", "--url", "http://partners.example")
    assert (end.status, end.errors) == (1, "CommandError: --url must begin with https:// and a host.\n")
