"""The runbook's backup and restore commands, with a new cluster."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command

from config.embedded.server import OWNER_ROLE, SERVICE_ROLE, EmbeddedServer, checkout_server, programs
from core.database import serving_role
from demo.seeding import external_id
from demo.walk import Walk
from tests.slow.live.conftest import production, start_server
from tests.support.delivering import delivering
from tests.support.timeouts import WAIT_SECONDS

ROOT = Path(settings.BASE_DIR)
# As docs/operations.md has them.
BACKUP = "pg_dump --format=custom --no-privileges --file=psi.dump"
RESTORE = "pg_restore --no-owner --no-privileges --exit-on-error --single-transaction --dbname"

ROLES = (SERVICE_ROLE, OWNER_ROLE)

# All that a schema promises, and where each table's numbers go on. Conditions are compared by name: PostgreSQL
# writes a restored one in another way.
PROMISES = {
    "triggers": "SELECT tgname, tgenabled::text, tgtype, tgfoid::regproc::text FROM pg_trigger WHERE NOT tgisinternal",
    "functions": "SELECT proname, prosecdef, pg_get_functiondef(oid) FROM pg_proc"
    " WHERE pronamespace = 'public'::regnamespace",
    "constraints": "SELECT conname, contype::text, convalidated FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace",
    "indexes": "SELECT indexrelid::regclass::text, indisunique, indisvalid FROM pg_index"
    " JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'public'::regnamespace",
    "sequences": "SELECT sequencename, '', last_value FROM pg_sequences WHERE schemaname = 'public'",
}


@dataclass(frozen=True)
class Place:
    """A database with its documents, and the environment for both."""

    serving: str
    owner: str
    documents: Path

    @property
    def environment(self) -> dict[str, str]:
        return production(
            DATABASE_URL=self.serving, OWNER_DATABASE_URL=self.owner, DOCUMENT_STORAGE_URL=self.documents.as_uri()
        )

    def manage(self, *arguments: str, **environment: str) -> str:
        """Return the output of a command."""
        return run([sys.executable, "manage.py", *arguments], self.environment | environment)

    def promises(self) -> Mapping[str, list[tuple[Any, ...]]]:
        """Return constraints, triggers and rights."""
        with psycopg.connect(self.owner) as connection, connection.cursor() as cursor:
            found = {name: sorted(cursor.execute(statement).fetchall()) for name, statement in PROMISES.items()}
            held = serving_role.effective(cursor, SERVICE_ROLE)  # type: ignore[arg-type]
        return found | {"grants": sorted((table, *sorted(rights)) for table, rights in held.items())}


def run(command: list[str], environment: Mapping[str, str], cwd: Path = ROOT) -> str:
    ended = subprocess.run(command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Place]:
    """An empty database."""
    checkout_server.ensure_running()
    name = f"psi_backup_{secrets.token_hex(4)}"
    with psycopg.connect(checkout_server.url(OWNER_ROLE), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            serving, owner = (checkout_server.url(role, name) for role in ROLES)
            yield Place(serving, owner, tmp_path / "documents")
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Place]:
    """A new cluster with both roles and an empty database, as in a first deployment."""
    # Not in pytest's folder: another run of pytest closes that to the account which the server runs as.
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedServer(Path(folder) / "postgres")
        server.ensure_running()
        try:
            yield Place(server.url(SERVICE_ROLE), server.url(OWNER_ROLE), tmp_path / "restored")
        finally:
            server.leave()


def test_a_restored_backup_has_the_same_data_constraints_and_rights(
    source: Place, target: Place, tmp_path: Path
) -> None:
    source.manage("migrate", "--verbosity", "0")
    seeded = json.loads(source.manage("seed_demo", "--users", "10", "--conversions", "150", "--json", DEBUG="true"))

    path = {"PATH": f"{programs()}{os.pathsep}{os.environ['PATH']}"}
    run([*BACKUP.split(), source.owner], path, cwd=tmp_path)
    shutil.copytree(source.documents, target.documents)
    run([*RESTORE.split(), target.owner, "psi.dump"], path, cwd=tmp_path)
    # In both: it leaves a line in the audit log.
    source.manage("setup_database_roles")
    target.manage("setup_database_roles")

    assert target.promises() == source.promises()
    target.manage("migrate", "--check")
    walk_through(target, seeded)


def walk_through(place: Place, seeded: Mapping[str, Any]) -> None:
    """Run the demo's requests against a service on this database."""
    with psycopg.connect(place.owner) as connection:
        row = connection.execute(
            "SELECT count(*) FROM transactions_conversion c JOIN users_user u ON u.id = c.user_id"
            " WHERE u.external_id = %s",
            [external_id(1)],
        ).fetchone()
    assert row is not None
    conversions = int(row[0])
    server = start_server(**place.environment)
    try:
        key = (f"--api-key={seeded['apiKey']}", f"--secret={seeded['secret']}")

        def manage(name: str, *arguments: str) -> str:
            if name != "call":
                return place.manage(name, *arguments)
            # It asks the service alone, and needs no process of its own.
            printed = StringIO()
            call_command("call", f"--base-url=http://127.0.0.1:{server.port}", *key, *arguments, stdout=printed)
            return printed.getvalue()

        with delivering(**place.environment):
            Walk(manage, lambda _: None).run(external_id(1), conversions)
    finally:
        server.process.terminate()
        server.process.wait(timeout=WAIT_SECONDS)


@pytest.mark.parametrize("command", [BACKUP, RESTORE])
def test_the_runbook_has_the_tested_commands(command: str) -> None:
    assert command in (ROOT / "docs" / "operations.md").read_text()
