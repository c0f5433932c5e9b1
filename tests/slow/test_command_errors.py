"""Errors that an operator can correct are one line: docs/operations.md."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from unittest.mock import Mock

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import InternalError, OperationalError, ProgrammingError
from django.db.migrations.exceptions import MigrationSchemaMissing
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict

from config.embedded.server import SUPERUSER
from core.database import serving_role
from core.database.errors import connection_refusal
from core.management.base import ending_signals, explained
from partners.models import ApiKey, Partner
from tests import factories
from tests.conftest import database_url
from tests.slow.live.conftest import production
from tests.support.commands import refusal, run
from tests.support.forked import Forks, forks

WORK = {
    "list_partners": "partners.management.commands.list_partners.Command.perform",
    "migrate": "django.core.management.commands.migrate.Command.handle",
}


@pytest.mark.parametrize("command", WORK)
@pytest.mark.parametrize(
    ("error", "cause", "said"),
    [
        (InternalError, errors.ReadOnlySqlTransaction, "read-only"),
        (ProgrammingError, errors.InsufficientPrivilege, "setup_database_roles"),
        (ProgrammingError, errors.UndefinedTable, "run `migrate` first"),
        (OperationalError, errors.LockNotAvailable, "lock timeout"),
        (OperationalError, errors.ConnectionTimeout, "cannot be reached"),
        (OperationalError, errors.DiskFull, "disk is full"),
    ],
)
def test_a_refusal_of_the_database_is_one_line(
    error: type[Exception], cause: type[Exception], said: str, command: str, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error from cause()

    monkeypatch.setattr(WORK[command], fail)
    assert said in refusal(command)


@pytest.mark.django_db(databases=["default", "owner"])
@pytest.mark.parametrize("app", ["core", "partners", "events", "staff", "users", "transactions"])
def test_migrations_are_not_reversed(app: str) -> None:
    assert "CommandError: Migrations are not reversed" in run("migrate", app, "zero").errors
    assert not Partner.objects.exists()


def test_a_reader_of_a_pipe_that_has_read_enough_is_no_error(db: None) -> None:
    class Pipe(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

        def fileno(self) -> int:
            return os.open(os.devnull, os.O_WRONLY)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", Pipe())
        call_command("list_partners")
        with pytest.raises(CommandError, match="cannot be written"):
            call_command("issue_api_key", factories.PartnerFactory.create().slug)
    assert not ApiKey.objects.exists()


def test_migrate_says_what_a_role_without_privileges_needs(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    error, hidden = MigrationSchemaMissing(), ProgrammingError()
    error.__context__, hidden.__cause__ = hidden, errors.InsufficientPrivilege()
    monkeypatch.setattr(WORK["migrate"], Mock(side_effect=error))
    assert "OWNER_DATABASE_URL" in refusal("migrate")


@pytest.fixture(scope="module")
def forked(django_db_setup: None) -> Iterator[Forks]:
    with forks(production(OWNER_DATABASE_URL=database_url(serving_role.OWNER))) as running:
        yield running


ABSENT_ROLE = 'role "absent" does not exist'


def test_a_refused_connection_is_told_as_what_it_is(forked: Forks) -> None:
    cases = {
        "list_partners": ("default", "USER", ABSENT_ROLE),
        "import_conversions -": ("default", "NAME", 'database "absent" does not exist'),
        "migrate": ("owner", "USER", ABSENT_ROLE),
        # Django's own.
        "clearsessions": ("default", "USER", ABSENT_ROLE),
        "sqlmigrate users 0001": ("default", "USER", ABSENT_ROLE),
        "setup_database_roles": ("owner", "USER", ABSENT_ROLE),
    }
    ended = forked.at_once(
        *(
            {"arguments": command.split(), "databases": {alias: {changed: "absent"}}}
            for command, (alias, changed, _) in cases.items()
        )
    )
    told = "CommandError: The database refused the connection: {}. Check DATABASE_URL and OWNER_DATABASE_URL."
    assert {
        command: (one.status, one.errors.count("\n"), one.errors.startswith(told.format(said)))
        for (command, (*_, said)), one in zip(cases.items(), ended, strict=True)
    } == dict.fromkeys(cases, (1, 1, True)), ended


def test_an_unexpected_exception_is_one_line_and_a_traceback_where_it_is_wanted(forked: Forks) -> None:
    failing = ("shell", "--verbosity=0", "--command", "'a name'[9]")
    shown = "CommandError: IndexError at <string>:1; `--traceback` shows all of it.\n"
    assert forked.run(*failing) == (1, "", shown)
    traced = forked.run(*failing, "--traceback")
    assert traced.status == 1
    assert traced.errors.endswith("IndexError: string index out of range\n")


def test_a_commands_json_is_all_of_its_output(committed_partner: Partner, forked: Forks) -> None:
    endpoint = factories.WebhookEndpointFactory.create(partner=committed_partner)
    ended = forked.run("test_webhook", str(endpoint.pk), "--json")
    assert set(json.loads(ended.output)) >= {"error"}
    # Its line in the log.
    assert json.loads(ended.errors)["event"] == "webhook attempt"


@pytest.mark.parametrize(
    ("libpq_says", "said"),
    [
        ('FATAL:  password authentication failed for user "a"\n', 'password authentication failed for user "a"'),
        ("fe_sendauth: no password supplied\n", "no password supplied"),
        ("SSL error: certificate verify failed\n", "SSL error: certificate verify failed"),
        ("server does not support SSL, but SSL was required", "server does not support SSL, but SSL was required"),
        ("FATAL:  sorry, too many clients already", "sorry, too many clients already"),
        ("Connection refused\n\tIs the server running on that host?", ""),
        ("timeout expired", ""),
    ],
)
def test_what_the_server_says_against_a_connection_is_told(libpq_says: str, said: str) -> None:
    failure = OperationalError(f'connection failed: connection to server at "db", port 5432 failed: {libpq_says}')
    assert connection_refusal(failure) == said
    assert (said or "cannot be reached") in explained(failure)


@pytest.mark.parametrize("command", ["issue_api_key", "rotate_api_key"])
def test_a_secret_that_cannot_be_shown_is_not_made(
    command: str, partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_command("issue_api_key", partner.slug, stdout=Mock())
    before = list(partner.api_keys.values_list("pk", "expires_at"))
    argument = partner.slug if command == "issue_api_key" else partner.api_keys.get().prefix
    # It would be that of the tests.
    monkeypatch.setattr("core.management.base.os.dup2", lambda *_: None)
    full = Mock(writelines=Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(CommandError, match="cannot be written: No space left on device"):
        call_command(command, argument, stdout=full)
    assert list(partner.api_keys.values_list("pk", "expires_at")) == before


def test_a_full_disk_behind_standard_output_is_one_line(forked: Forks) -> None:
    ended = forked.run("list_partners", stdout="/dev/full")
    assert ended == (1, "", "CommandError: Standard output cannot be written: No space left on device.\n")


def test_a_closed_standard_output_is_one_line_and_nothing_is_done(committed_partner: Partner, forked: Forks) -> None:
    ended = forked.run("set_partner", committed_partner.slug, "--disable", closed=[1])
    assert ended == (1, "", "Standard output is closed.\n")
    committed_partner.refresh_from_db()
    assert committed_partner.enabled


def test_an_output_that_lacks_a_character_is_no_error(committed_partner: Partner, forked: Forks) -> None:
    Partner.objects.update(name="Caf\N{LATIN SMALL LETTER E WITH ACUTE}")
    ended = forked.run("list_partners", encoding="ascii")
    assert (ended.status, ended.errors) == (0, "")
    assert "Caf\\xe9" in ended.output


def test_a_closed_standard_input_is_one_line(forked: Forks) -> None:
    ended = forked.run("import_conversions", "-", closed=[0])
    assert (ended.status, ended.errors.count("\n")) == (1, 1)
    assert ended.errors.startswith("CommandError: ")


def test_a_signal_that_nohup_ignores_ends_no_command() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert signal.SIGHUP not in ending_signals()
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert signal.SIGHUP in ending_signals()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_migrate_reads_dates_whatever_the_style_of_the_role(forked: Forks) -> None:
    url = database_url(serving_role.OWNER)
    with psycopg.connect(database_url(serving_role.OWNER, SUPERUSER), autocommit=True) as superuser:
        role = sql.Identifier(str(conninfo_to_dict(url)["user"]))
        superuser.execute(sql.SQL("ALTER ROLE {} SET datestyle = 'German, DMY'").format(role))
        try:
            ended = forked.run("migrate")
            assert (ended.status, ended.errors) == (0, "")
        finally:
            superuser.execute(sql.SQL("ALTER ROLE {} RESET datestyle").format(role))


def test_a_command_that_never_imports_the_sign_in_knows_its_actions() -> None:
    actions = "directory.made", "signIn.refusedProvider"
    program = f"import django; django.setup(); from core.audit import ACTIONS; assert ACTIONS.keys() >= {set(actions)}"
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
