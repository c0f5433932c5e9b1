"""Commands as ops run them."""

import io
import json
from typing import Any, NamedTuple

import pytest
from django.core.management import ManagementUtility, call_command
from django.db import connections


class Exit(NamedTuple):
    """How a command ended, and what it wrote."""

    status: int
    output: str
    errors: str


def printed(*arguments: str) -> str:
    """What a command that succeeds prints for people."""
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def outcome(*arguments: str) -> Any:
    """The JSON of a command that succeeds."""
    return json.loads(printed(*arguments, "--json"))


def run(*arguments: str) -> Exit:
    """A command by the way of `manage.py`, to its exit status."""
    with pytest.MonkeyPatch.context() as patch:
        out, errors = io.StringIO(), io.StringIO()
        patch.setattr("sys.stdout", out)
        patch.setattr("sys.stderr", errors)
        # The test's transaction must not lose its connection.
        patch.setattr(connections, "close_all", lambda: None)
        try:
            ManagementUtility(["manage.py", *arguments]).execute()
        except SystemExit as end:
            return Exit(int(end.code or 0), out.getvalue(), errors.getvalue())
        return Exit(0, out.getvalue(), errors.getvalue())


def refusal(*arguments: str) -> str:
    """The one line that a command that is refused writes to standard error, with exit status 1."""
    end = run(*arguments)
    assert (end.status, end.output) == (1, ""), end
    assert end.errors.count("\n") == 1, end.errors
    return end.errors.removeprefix("CommandError: ").rstrip("\n")
