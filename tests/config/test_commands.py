"""Properties of all commands."""

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.core import checks
from django.core.management import get_commands, load_command_class

from core.management.base import ServiceCommand

COMMANDS = [
    (app, name)
    for name, app in get_commands().items()
    if app in {"core", "partners", "events", "staff", "users", "transactions", "backoffice"}
]


@pytest.mark.parametrize(("app", "name"), COMMANDS, ids=[name for _, name in COMMANDS])
def test_each_argument_has_help(app: str, name: str) -> None:
    parser = load_command_class(app, name).create_parser("manage.py", name)
    assert [action.dest for action in parser._actions if not action.help] == []


def test_an_argument_has_one_name_in_all_commands() -> None:
    shown = defaultdict[str, set[Any]](set)
    for app, name in COMMANDS:
        command = load_command_class(app, name)
        if isinstance(command, ServiceCommand):
            for action in command.create_parser("manage.py", name)._actions:
                flag = action.option_strings[-1] if action.option_strings else str(action.metavar)
                if action.nargs != 0 and not action.choices:
                    shown[flag].add(action.metavar)
    del shown["--settings"], shown["--pythonpath"]
    assert {flag: metavars for flag, metavars in shown.items() if len(metavars) > 1 or None in metavars} == {}


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`manage.py` in a process of its own, without a terminal."""
    settings_of_tests = {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=settings.BASE_DIR,
        env=os.environ | settings_of_tests | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_misspelt_command_is_one_line_and_a_suggestion() -> None:
    ended = manage("list_partner")
    assert ended.returncode == 1
    assert "Did you mean list_partners?" in ended.stderr


def test_system_checks_read_no_table(db: None, django_assert_num_queries: Callable[..., Any]) -> None:
    # `migrate` and `makemigrations` run them on an empty database.
    with django_assert_num_queries(0):
        checks.run_checks()
