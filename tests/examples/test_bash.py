"""What only the example in Bash has to mind: it starts programs, which take arguments, and curl has its own ideas."""

import shutil
from pathlib import Path

import pytest

from tests.examples.calling import Access, Caller
from tests.examples.languages import BASH, Workshop

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
