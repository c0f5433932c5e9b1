"""Properties of all commands."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core import checks
from django.core.management import get_commands, load_command_class

COMMANDS = [(app, name) for name, app in get_commands().items() if app in {"partners", "users", "transactions"}]


@pytest.mark.parametrize(("app", "name"), COMMANDS, ids=[name for _, name in COMMANDS])
def test_each_argument_has_help(app: str, name: str) -> None:
    parser = load_command_class(app, name).create_parser("manage.py", name)
    assert [action.dest for action in parser._actions if not action.help] == []


def test_system_checks_read_no_table(db: None, django_assert_num_queries: Callable[..., Any]) -> None:
    # `migrate` and `makemigrations` run them on an empty database.
    with django_assert_num_queries(0):
        checks.run_checks()
