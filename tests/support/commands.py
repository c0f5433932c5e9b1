"""Runs management commands."""

import io
import json
import signal
from typing import Any, NamedTuple

import pytest
from django.core.management import ManagementUtility, call_command
from django.db import connections


class Exit(NamedTuple):
    """Exit status and output of a command."""

    status: int
    output: str
    errors: str


def obey_all_signals() -> None:
    """Whatever the tests themselves were started to ignore, as under nohup: to be called in a new process."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def printed(*arguments: str) -> str:
    """Return the text output of a successful command."""
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def outcome(*arguments: str) -> Any:
    """Return the JSON output of a successful command."""
    return json.loads(printed(*arguments, "--json"))


def run(*arguments: str) -> Exit:
    """Run a command as `manage.py` does."""
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
    """Return the one line on standard error of a command that fails with exit status 1."""
    end = run(*arguments)
    assert (end.status, end.output) == (1, ""), end
    assert end.errors.count("\n") == 1, end.errors
    return end.errors.removeprefix("CommandError: ").rstrip("\n")
