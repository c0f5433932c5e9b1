"""The content and the format of log lines."""

import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings

from partners.authentication import keys
from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.watched import Watched, watched

ADA = "ada"


@pytest.fixture(scope="module")
def service(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched(tmp_path_factory.mktemp("log") / "log") as service:
        yield service


@pytest.fixture
def api(committed_partner: Partner, service: Watched) -> PartnerClient:
    return factories.client_of(committed_partner, service.transport)


def line_of(service: Watched, response: Response) -> dict[str, Any]:
    """The one line of the request that was answered so."""
    told = [line for line in service.lines() if line.get("request_id") == response.header("X-Request-Id")]
    (line,) = [line for line in told if line["event"] == "request"]
    return line


def test_a_requests_log_line_has_partner_route_and_status(
    service: Watched, api: PartnerClient, committed_partner: Partner
) -> None:
    api.get("/v1/ping")
    line = line_of(service, api.get("/v1/ping"))
    found = keys.find(api.api_key)
    assert found is not None
    assert line["timestamp"].endswith("Z")
    assert line["milliseconds"] >= line["sql_milliseconds"] > 0
    assert {name: line[name] for name in ("level", "partner", "key", "method", "route", "status")} == {
        "level": "info",
        "partner": committed_partner.slug,
        "key": found.prefix,
        "method": "GET",
        "route": "v1/ping",
        "status": 200,
    }


def test_the_log_line_of_an_invalid_request_says_what_was_wrong(service: Watched, api: PartnerClient) -> None:
    body = factories.user_body(email="ada", postalCode="1") | {"Ada Lovelace": 1}
    causes = line_of(service, api.post("/v1/users", body))["cause"].split(", ")
    assert sorted(causes) == ["email format", "postalCode format", "unknown"]
    assert line_of(service, api.post("/v1/users", b"{"))["cause"].startswith("The body is not valid JSON")
    assert line_of(service, api.get("/v1/users/nobody"))["cause"] == "User not found."
    assert line_of(service, api.get("/v1/nothing"))["cause"] == "Path not found."
    assert line_of(service, api.get("/v1/users?limit=0"))["cause"] == "limit range"
    assert "cause" not in line_of(service, api.get("/v1/ping"))


def test_the_log_line_of_a_refusal_has_cause_key_and_partner(
    service: Watched, api: PartnerClient, committed_partner: Partner
) -> None:
    request_id = api.get("/v1/ping", secret="psi_secret_x").header("X-Request-Id")
    (line,) = [
        line for line in service.lines() if (line["event"], line.get("request_id")) == ("unauthorized", request_id)
    ]
    found = (line["cause"], line["key"], line["partner"])
    assert found == ("bad signature", keys.find(api.api_key).prefix, committed_partner.slug)


def test_statements_are_counted_for_the_request_that_runs_them(service: Watched, api: PartnerClient) -> None:
    assert api.post("/v1/users", factories.user_body(externalId=ADA)).status == 201

    def statements(send: Callable[[], Response]) -> int:
        return int(line_of(service, send())["sql_statements"])

    assert statements(lambda: api.get("/v1/ping")) == 1
    assert statements(lambda: api.get(f"/v1/users/{ADA}")) == 2
    assert statements(lambda: api.get(f"/v1/users/{ADA}/transactions")) == 2
    assert statements(lambda: api.patch(f"/v1/users/{ADA}", {"city": secrets.token_hex(4)})) == 4
    # Nothing is left of the request before.
    nobody = line_of(service, service.transport("GET", "/v1/ping", {}, b""))
    assert [nobody[name] for name in ("partner", "key", "sql_statements", "status")] == [None, None, 0, 401]


def test_statements_of_the_orm_are_counted_too(service: Watched) -> None:
    # A session that is none is looked up, and its owner sent to the login.
    sent = {"X-Forwarded-Proto": "https", "Cookie": f"__Host-session={'t' * 32}"}
    response = service.transport("GET", "/admin/", sent, b"")
    assert response.status == 302
    line = line_of(service, response)
    assert line["sql_statements"] >= 1
    assert line["sql_milliseconds"] > 0


def test_a_method_that_somebody_made_up_is_not_repeated(service: Watched) -> None:
    assert line_of(service, service.transport("MADEUP", "/v1/ping", {}, b""))["method"] == "other"


SCRIPT = """
import logging, sys, threading, warnings
from config import logs
logs.configure(debug={debug})
import structlog
structlog.get_logger("partners.request").info("request", status=200)
logging.getLogger("library").error("lost %s", "a value")
logging.getLogger("django.security.csrf").error("a value")
# The request's line says these too.
logging.getLogger("django.request").error("a value")
logging.getLogger("django.request").warning("a value", exc_info=ValueError())
warnings.warn("a value", RuntimeWarning)
def crash():
    raise ValueError("a value")
thread = threading.Thread(target=crash)
thread.start()
thread.join()
crash()
"""


def written(*, debug: bool) -> str:
    """What a process writes that logs, warns, and crashes."""
    ended = subprocess.run(
        [sys.executable, "-W", "always", "-c", SCRIPT.format(debug=debug)],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    return ended.stderr


def test_in_production_all_lines_are_json_without_values() -> None:
    text = written(debug=False)
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["event"] for line in lines] == [
        "request",
        "lost %s",
        "django.security.csrf",
        "warning",
        "uncaught exception",
        "uncaught exception",
    ]
    assert lines[3]["category"] == "RuntimeWarning"
    assert [line["failure"][0] for line in lines[4:]] == ["builtins.ValueError"] * 2
    assert "a value" not in text


def test_while_debugging_lines_are_for_people() -> None:
    text = written(debug=True)
    assert "request" in text.splitlines()[0]
    assert "status" in text.splitlines()[0]
    assert "lost a value" in text
    assert "ValueError: a value" in text
    with pytest.raises(json.JSONDecodeError):
        json.loads(text.splitlines()[0])


REFUSED_HOST = """
from config import logs
logs.configure(debug={debug})
import logging
from django.core.exceptions import DisallowedHost
for _ in range(2):
    try:
        raise DisallowedHost("Invalid HTTP_HOST header: 'elsewhere.example'.")
    except DisallowedHost as error:
        logging.getLogger("django.security.DisallowedHost").error(str(error), exc_info=error)
"""


@pytest.mark.parametrize("debug", [True, False])
def test_a_refused_host_is_one_line_and_no_error(debug: bool) -> None:  # noqa: FBT001 - pytest gives it
    ended = subprocess.run(
        [sys.executable, "-c", REFUSED_HOST.format(debug=debug)],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = ended.stderr.splitlines()
    assert len(lines) == 2
    assert all("warning" in line and "Traceback" not in line for line in lines)
    assert debug or "elsewhere" not in ended.stderr


def test_without_a_standard_error_lines_are_lost_and_nothing_else() -> None:
    script = (
        "from config import logs; logs.configure(debug=False); import structlog; structlog.get_logger('x').info('y')"
    )
    ended = subprocess.run(
        ["sh", "-c", '"$0" -c "$1" 2>&-; echo $?', sys.executable, script],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "0\n"
