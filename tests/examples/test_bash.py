"""What only the example in Bash has to mind: it starts programs, which take arguments, and curl has its own ideas."""

import shutil
from pathlib import Path

import pytest

from tests.examples.calling import Access, Caller
from tests.examples.gateway import Fault, Gateway
from tests.examples.languages import BASH, EXAMPLES, Workshop

PROGRAMS = ("cat", "curl", "date", "iconv", "mktemp", "od", "openssl", "paste", "rm", "sort", "tr")


def test_neither_secret_nor_key_is_an_argument(place: Workshop, access: Access, tmp_path: Path) -> None:
    caller = Caller(place, BASH, access)
    noted = tmp_path / "arguments"
    # Each program notes its arguments and goes on as itself. There is no other on this PATH.
    for name in PROGRAMS:
        note = tmp_path / name
        note.write_text(f'#!/bin/sh\necho "{name} $*" >>"{noted}"\nexec {shutil.which(name)} "$@"\n')
        note.chmod(0o755)
    (tmp_path / "bash").symlink_to(shutil.which("bash") or "")
    _exit_status, (status, _body) = caller.call("PATCH", "/v1/users/a?b=c", "{}", PATH=str(tmp_path))
    arguments = noted.read_text()
    assert status == "404"
    assert {line.partition(" ")[0] for line in arguments.splitlines()} >= {*PROGRAMS}
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
