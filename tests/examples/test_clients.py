"""The examples on the command line, against a live service: what a partner does first."""

import json
import re
import shutil
import socket
import uuid
from pathlib import Path

import pytest

from tests import factories
from tests.examples.calling import Access, Caller
from tests.examples.gateway import Fault, Gateway
from tests.examples.languages import BASH, COMMAND_LINES, EXAMPLES, Workshop
from tests.support.client import PartnerClient
from tests.support.documents import add_document
from users.models import User

# With NULs, and with line feeds at its end.
EVERY_BYTE = bytes(range(256)) * 300 + b"\0\n\n"


@pytest.fixture(params=COMMAND_LINES, ids=str)
def caller(place: Workshop, request: pytest.FixtureRequest, access: Access) -> Caller:
    return Caller(place, request.param, access)


def test_a_call_prints_status_and_body(caller: Caller) -> None:
    exit_status, (status, body) = caller.call("GET", "/v1/ping")
    assert (exit_status, status) == (0, "200")
    assert json.loads(body)["partner"].startswith("committed-")


def test_an_error_is_printed_and_gives_an_exit_status(caller: Caller) -> None:
    exit_status, (status, body) = caller.call("GET", "/v1/users/caf%C3%A9%20%2B1~a/transactions?limit=50&b=x/y+z&a=%2B")
    assert (exit_status, status, json.loads(body)["error"]) == (1, "404", "not_found")


def test_a_write_is_signed_as_it_is_sent(caller: Caller, client: PartnerClient) -> None:
    user = json.dumps(factories.user_body(externalId="zoë +1", firstName="Zoë", occupation="🦫"), ensure_ascii=False)
    assert caller.call("POST", "/v1/users", user)[1][0] == "201"
    exit_status, (status, body) = caller.call("PATCH", "/v1/users/zo%C3%AB%20+1", '{"city": "Montréal"}\n')
    assert (exit_status, status, json.loads(body)["externalId"]) == (0, "200", "zoë +1")
    assert client.get("/v1/users/zo%C3%AB%20%2B1").json()["status"] == "pendingCompliance"


def test_a_write_without_a_body_is_refused_for_its_body_alone(caller: Caller) -> None:
    exit_status, (status, body) = caller.call("POST", "/v1/users")
    assert (exit_status, status, json.loads(body)["error"]) == (1, "400", "bad_request")


def test_a_write_has_its_key_or_a_new_one(caller: Caller, gateway: Gateway) -> None:
    user, key = json.dumps(factories.user_body()), str(uuid.uuid4())
    first = caller.call("POST", "/v1/users", user, PSI_BASE_URL=gateway.url, PSI_IDEMPOTENCY_KEY=key)
    assert caller.call("POST", "/v1/users", user, PSI_BASE_URL=gateway.url, PSI_IDEMPOTENCY_KEY=key) == first
    assert caller.call("POST", "/v1/users", user, PSI_BASE_URL=gateway.url)[1][0] == "409"
    *given, made = [headers["idempotency-key"] for headers in gateway.seen]
    assert given == [key, key]
    assert uuid.UUID(made).version == 4


def test_a_read_has_no_key_and_a_prefix_that_is_not_signed(caller: Caller, gateway: Gateway) -> None:
    assert caller.call("GET", "/v1/ping?a=1", PSI_BASE_URL=gateway.url)[1][0] == "200"
    assert ["idempotency-key" in headers for headers in gateway.seen] == [False]


def test_a_redirect_is_not_followed(caller: Caller, gateway: Gateway) -> None:
    gateway.faults = [302]
    exit_status, (status, *_) = caller.call("GET", "/v1/ping", PSI_BASE_URL=gateway.url)
    assert (exit_status, status, len(gateway.seen)) == (1, "302", 1)


def test_a_missing_response_is_reported(caller: Caller) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        said = caller.complaint("GET", "/v1/ping", PSI_BASE_URL=f"http://127.0.0.1:{unused.getsockname()[1]}")
    assert len(said.splitlines()) == 1
    assert "onnect" in said


@pytest.mark.parametrize("name", ["PSI_BASE_URL", "PSI_API_KEY", "PSI_SECRET"])
def test_a_missing_setting_is_named(caller: Caller, name: str) -> None:
    assert caller.complaint("GET", "/v1/ping", **{name: ""}) == f"{name} is not set\n"


def test_a_file_that_is_included_or_read_from_standard_input_runs_nothing(caller: Caller) -> None:
    if caller.language.name not in {"bash", "php"}:
        pytest.skip("a compiled program is started by its name")
    program, name = caller.language.client
    including = "source ./psi.sh" if program == "bash" else "require './psi.php';"
    source = (caller.place.folder / name).read_bytes()
    for command, given in (((program,), source), ((program, {"bash": "-c", "php": "-r"}[program], including), b"")):
        done = caller.place.run(command, caller.access.environment(), given)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("suffix", ["/v1", "/v1/", "?a=b", "#a"])
def test_a_base_url_that_is_more_than_that_is_refused(caller: Caller, suffix: str) -> None:
    said = caller.complaint("GET", "/v1/ping", PSI_BASE_URL=f"https://partners.example{suffix}")
    assert said == "PSI_BASE_URL is not like https://partners.example: no /v1, ?, #, user name or password\n"


def test_a_password_in_the_base_url_is_refused_and_not_printed(caller: Caller) -> None:
    said = caller.complaint("GET", "/v1/ping", PSI_BASE_URL="https://ada:pa55@partners.example")
    assert said.startswith("PSI_BASE_URL is not like https://partners.example: ")
    assert "pa55" not in said


def test_a_file_is_written_byte_for_byte(caller: Caller, user: User) -> None:
    document = add_document(user, EVERY_BYTE)
    path = f"/v1/users/{user.external_id}/documents/{document.document_id}"
    assert caller.fetch("GET", path) == (0, ("200", EVERY_BYTE))


def test_a_truncated_file_is_not_written(caller: Caller, user: User, gateway: Gateway) -> None:
    document, gateway.faults = add_document(user, EVERY_BYTE), ["cut"]
    path = f"/v1/users/{user.external_id}/documents/{document.document_id}"
    assert caller.complaint("GET", path, PSI_BASE_URL=gateway.url)


def test_a_target_that_cannot_be_signed_is_reported(caller: Caller) -> None:
    said = caller.complaint("GET", "/v1/users/caf%E9").splitlines()
    assert len(said) == 1
    assert re.search("utf-8|URI malformed", said[0], re.IGNORECASE)


# What only the one in Bash has to mind: it starts programs, which take arguments, and curl has its own ideas

STARTED = ("cat", "curl", "date", "iconv", "mktemp", "od", "openssl", "paste", "rm", "sort", "tr")


def test_neither_secret_nor_key_is_an_argument(place: Workshop, access: Access, tmp_path: Path) -> None:
    caller = Caller(place, BASH, access)
    noted = tmp_path / "arguments"
    # Each program notes its arguments and goes on as itself. There is no other on this PATH.
    for name in STARTED:
        note = tmp_path / name
        note.write_text(f'#!/bin/sh\necho "{name} $*" >>"{noted}"\nexec {shutil.which(name)} "$@"\n')
        note.chmod(0o755)
    (tmp_path / "bash").symlink_to(shutil.which("bash") or "")
    _exit_status, (status, _body) = caller.call("PATCH", "/v1/users/a?b=c", "{}", PATH=str(tmp_path))
    arguments = noted.read_text()
    assert status == "404"
    assert {line.partition(" ")[0] for line in arguments.splitlines()} >= {*STARTED}
    assert access.secret not in arguments
    assert access.api_key not in arguments


@pytest.mark.parametrize(("target", "status"), [("/v1/ping?a[]={1,2}", "200"), ("/v1/users/..", "400")])
def test_curl_sends_what_was_signed(place: Workshop, access: Access, target: str, status: str) -> None:
    assert Caller(place, BASH, access).call("GET", target)[1][0] == status


@pytest.mark.parametrize(
    ("of_the_look_up", "exit_status", "said"),
    [(None, 0, "it has not happened"), (404, 1, "It cannot be told: 404")],
)
def test_only_the_services_own_not_found_says_that_a_write_has_not_happened(
    place: Workshop, access: Access, gateway: Gateway, of_the_look_up: Fault, exit_status: int, said: str
) -> None:
    script = shutil.copy(EXAMPLES / "go_live" / "step10_lost_response.sh", place.folder)
    gateway.faults = ["lost", of_the_look_up]
    environment = access.environment(PSI_BASE_URL=gateway.url, EXTERNAL_ID="nobody")
    done = place.built(BASH).run(("bash", str(script)), environment)
    assert done.returncode == exit_status
    assert said in (done.stdout + done.stderr).decode()
