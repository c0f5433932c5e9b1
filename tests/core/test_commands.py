"""Properties of all commands, and `setup_database_roles`: the serving role cannot alter history."""

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.core import checks
from django.core.management import get_commands, load_command_class
from django.db import ProgrammingError, connection, connections, transaction
from psycopg import sql

from core.database import serving_role
from core.management.base import ServiceCommand
from tests.support.commands import outcome, printed, refusal, run

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


def test_a_misspelt_command_is_one_line_and_a_suggestion() -> None:
    ended = run("list_partner")
    assert ended.status == 1
    assert "Did you mean list_partners?" in ended.errors


def test_system_checks_read_no_table(db: None, django_assert_num_queries: Callable[..., Any]) -> None:
    # `migrate` and `makemigrations` run them on an empty database.
    with django_assert_num_queries(0):
        checks.run_checks()


# setup_database_roles

both_databases = pytest.mark.django_db(databases=[serving_role.SERVING, serving_role.OWNER])


@pytest.fixture
def role(monkeypatch: pytest.MonkeyPatch) -> str:
    """A name for the role of DATABASE_URL that no role has yet, and that needs quoting."""
    name = f'Serving "{secrets.token_hex(4)}'
    monkeypatch.setitem(connections[serving_role.SERVING].settings_dict, "USER", name)
    return name


@pytest.fixture
def created_role(django_db_setup: None, django_db_blocker: Any, role: str) -> Iterator[str]:
    """That role, made by the command, and dropped afterwards."""
    with django_db_blocker.unblock():
        outcome("setup_database_roles")
        yield role
        with connections[serving_role.OWNER].cursor() as cursor:
            for statement in ("GRANT {} TO CURRENT_USER", "DROP OWNED BY {}", "DROP ROLE {}"):
                cursor.execute(sql.SQL(statement).format(sql.Identifier(role)).as_string(None))
        connections[serving_role.OWNER].close()


@pytest.fixture
def session(created_role: str) -> Iterator[psycopg.Connection[Any]]:
    """A session of the role that the command made."""
    given = connections[serving_role.OWNER].settings_dict
    with psycopg.connect(
        host=given["HOST"], port=given["PORT"] or None, dbname=given["NAME"], user=created_role, autocommit=True
    ) as session:
        yield session


def execute_as_owner(statement: str, *names: str) -> None:
    with connections[serving_role.OWNER].cursor() as cursor:
        cursor.execute(sql.SQL(statement).format(*map(sql.Identifier, names)).as_string(None))


def test_the_role_may_log_in_and_read_and_alters_no_history(
    session: psycopg.Connection[Any], created_role: str
) -> None:
    """What else it may not: tests/database."""
    row = session.execute("SELECT current_user, count(*) FROM users_userevent").fetchone()
    assert row is not None
    assert row[0] == created_role
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute("UPDATE users_userevent SET first_name = ''")


@both_databases
def test_the_command_names_the_role_and_counts_its_tables(role: str) -> None:
    assert outcome("setup_database_roles") == {"role": role, "tables": outcome("setup_database_roles")["tables"]}
    assert f"Role {role} may serve" in printed("setup_database_roles")


@both_databases
def test_a_privilege_that_somebody_gave_is_taken_again(role: str) -> None:
    outcome("setup_database_roles")
    execute_as_owner("GRANT TRUNCATE, UPDATE ON users_userevent TO {}", role)
    execute_as_owner("GRANT UPDATE (status) ON users_user TO {}", role)
    execute_as_owner("GRANT CREATE ON SCHEMA public TO {}", role)
    outcome("setup_database_roles")
    with connections[serving_role.OWNER].cursor() as cursor:
        cursor.execute(
            "SELECT has_table_privilege(%s, 'users_userevent', 'TRUNCATE, UPDATE'),"
            " has_column_privilege(%s, 'users_user', 'status', 'UPDATE'), has_schema_privilege(%s, 'public', 'CREATE')",
            [role] * 3,
        )
        assert cursor.fetchone() == (False, False, False)


@both_databases
def test_the_password_of_the_url_is_kept_as_a_scram_verifier(role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    executed: list[str] = []

    def listen(execute: Callable[..., Any], statement: str, *rest: Any) -> Any:
        executed.append(statement)
        return execute(statement, *rest)

    monkeypatch.setitem(connections[serving_role.SERVING].settings_dict, "PASSWORD", "it's a %s phrase")
    with connections[serving_role.OWNER].execute_wrapper(listen):
        outcome("setup_database_roles")
    (statement,) = [statement for statement in executed if "PASSWORD" in statement]
    assert "SCRAM-SHA-256$" in statement
    assert "phrase" not in "".join(executed)


@both_databases
def test_a_role_that_may_make_databases_is_refused(role: str) -> None:
    execute_as_owner("CREATE ROLE {} LOGIN CREATEDB", role)
    assert "name another role" in refusal("setup_database_roles")


@both_databases
def test_a_role_with_further_privileges_is_refused_and_rolled_back(role: str) -> None:
    execute_as_owner("GRANT TRUNCATE ON users_userevent TO PUBLIC")
    assert "TRUNCATE on users_userevent" in refusal("setup_database_roles")
    assert not serving_role.exists(role)


@both_databases
def test_a_role_that_could_not_log_in_may_then(role: str) -> None:
    execute_as_owner("CREATE ROLE {} NOLOGIN", role)
    outcome("setup_database_roles")
    with connections[serving_role.OWNER].cursor() as cursor:
        cursor.execute("SELECT rolcanlogin FROM pg_roles WHERE rolname = %s", [role])
        assert cursor.fetchone() == (True,)


def test_the_owners_own_role_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = connections[serving_role.OWNER].settings_dict["USER"]
    monkeypatch.setitem(connections[serving_role.SERVING].settings_dict, "USER", owner)
    assert refusal("setup_database_roles").startswith("OWNER_DATABASE_URL is not set")


@both_databases
def test_an_owner_that_may_not_make_roles_is_one_line(role: str) -> None:
    # Whoever serves may not make roles.
    execute_as_owner("CREATE ROLE {}", role)
    execute_as_owner("GRANT {} TO CURRENT_USER", role)
    execute_as_owner("SET LOCAL ROLE {}", role)
    assert "must own the schema" in refusal("setup_database_roles")


@pytest.mark.django_db
def test_a_trigger_that_writes_history_cannot_be_borrowed() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT p.proname FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid"
            " WHERE NOT t.tgisinternal AND p.prosecdef"
        )
        functions = [name for (name,) in cursor.fetchall()]
        assert functions
        cursor.execute("CREATE TEMPORARY TABLE borrowed (LIKE users_user)")
        for function in functions:
            borrow = sql.SQL("CREATE TRIGGER b AFTER INSERT ON borrowed FOR EACH ROW EXECUTE FUNCTION {}()")
            with pytest.raises(ProgrammingError, match="permission denied for function"), transaction.atomic():
                cursor.execute(borrow.format(sql.Identifier(function)).as_string(None))
