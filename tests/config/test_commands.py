"""Properties of all commands."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.core import checks
from django.core.management import get_commands, load_command_class

COMMANDS = [
    (app, name) for name, app in get_commands().items() if app in {"partners", "users", "transactions", "backoffice"}
]


@pytest.mark.parametrize(("app", "name"), COMMANDS, ids=[name for _, name in COMMANDS])
def test_each_argument_has_help(app: str, name: str) -> None:
    parser = load_command_class(app, name).create_parser("manage.py", name)
    assert [action.dest for action in parser._actions if not action.help] == []


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


def test_help_lists_the_services_commands_before_all_others() -> None:
    text = manage("help").stdout
    own, _, others = text.partition("Commands of Django and of packages:")
    listed = [line.strip() for line in own.splitlines() if line.startswith("    ")]
    assert sorted(listed) == sorted(name for _, name in COMMANDS)
    assert {"runserver", "check", "clearsessions", "spectacular"} <= set(others.split())
    assert own.index("[partners]") < own.index("[users]") < own.index("[transactions]")


def test_the_names_alone_and_the_help_of_a_command_are_djangos() -> None:
    assert manage("help", "--commands").stdout.split() == sorted(get_commands())
    for arguments in (["help", "list_partners"], ["list_partners", "--help"]):
        assert manage(*arguments).stdout.startswith("usage: manage.py list_partners")


def test_a_shell_completes_names() -> None:
    completed = manage(DJANGO_AUTO_COMPLETE="1", COMP_WORDS="manage.py list_", COMP_CWORD="1")
    assert set(completed.stdout.split()) == {name for name in get_commands() if name.startswith("list_")}


def test_a_misspelt_command_is_one_line_and_a_suggestion() -> None:
    ended = manage("list_partner")
    assert ended.returncode == 1
    assert "Did you mean list_partners?" in ended.stderr


def test_system_checks_read_no_table(db: None, django_assert_num_queries: Callable[..., Any]) -> None:
    # `migrate` and `makemigrations` run them on an empty database.
    with django_assert_num_queries(0):
        checks.run_checks()
