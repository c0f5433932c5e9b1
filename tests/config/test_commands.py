"""Properties of all commands."""

import pytest
from django.core.management import get_commands, load_command_class

COMMANDS = [(app, name) for name, app in get_commands().items() if app in {"partners", "users", "transactions"}]


@pytest.mark.parametrize(("app", "name"), COMMANDS, ids=[name for _, name in COMMANDS])
def test_each_argument_has_help(app: str, name: str) -> None:
    parser = load_command_class(app, name).create_parser("manage.py", name)
    assert [action.dest for action in parser._actions if not action.help] == []
