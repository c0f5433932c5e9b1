"""Migrations run while the previous version serves."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pgtrigger
import psycopg
import pytest
from django.conf import settings
from django.db import connections, transaction
from django.db.migrations import RunSQL
from django.db.migrations.loader import MigrationLoader

from config.embedded.server import SUPERUSER
from core.database import serving_role
from core.database.triggers import AddTriggers, FunctionTrigger
from tests.conftest import database_url
from tests.database.migration_rules import violations
from tests.slow.live.conftest import production

ROOT = Path(settings.BASE_DIR)

# Before there was a version to serve: its tables were empty.
BEFORE = {
    "core": "0001_initial",
    "partners": "0001_initial",
    "events": "0001_initial",
    "staff": "0001_initial",
    "users": "0001_initial",
    "transactions": "0001_initial",
}


def test_every_migration_of_a_version_in_use_leaves_the_one_before_it_serving() -> None:
    held = [one for (app, name), one in MigrationLoader(None).disk_migrations.items() if name > BEFORE.get(app, "~")]
    assert held
    assert [violation for one in held for violation in violations(one)] == []


@pytest.mark.django_db(databases=[serving_role.SERVING, serving_role.OWNER])
def test_the_triggers_of_a_model_are_dropped_and_made_again() -> None:
    owner = connections[serving_role.OWNER]
    loader = MigrationLoader(owner)
    state = loader.project_state()
    [adds] = [
        one
        for one in loader.disk_migrations["transactions", "0001_initial"].operations
        if isinstance(one, AddTriggers) and one.model_name == "document"
    ]

    def found() -> set[str]:
        with owner.cursor() as cursor:
            cursor.execute("SELECT tgname FROM pg_trigger WHERE tgrelid = 'transactions_document'::regclass")
            return {name for (name,) in cursor.fetchall()}

    before = found()
    names = {f"pgtrigger_{one.name}_" for one in adds.triggers}
    with transaction.atomic(using=serving_role.OWNER), owner.schema_editor(atomic=False) as editor:
        adds.database_backwards("transactions", editor, state, state)
        assert not any(name.startswith(tuple(names)) for name in found())
        adds.database_forwards("transactions", editor, state, state)
        assert found() == before
        transaction.set_rollback(True, using=serving_role.OWNER)
    assert all(str(one.name) in adds.describe() for one in adds.triggers)


def functions() -> Iterator[tuple[str, str]]:
    """The functions that migrations make, in their order."""
    for (_app, _name), migration in sorted(MigrationLoader(None).disk_migrations.items()):
        for operation in migration.operations:
            if isinstance(operation, RunSQL) and isinstance(operation.sql, list):
                for text in operation.sql:
                    for name in re.findall(r"CREATE OR REPLACE FUNCTION (\w+)\(", str(text)):
                        # The data of a library, which have a test of their own.
                        yield name, re.sub(r"'\{.*\}'::jsonb", "'{forms}'::jsonb", str(text))


def test_the_newest_migration_of_a_function_has_its_file() -> None:
    # makemigrations compares those of triggers.
    of_triggers = {one.function for _model, one in pgtrigger.registered() if isinstance(one, FunctionTrigger)}
    files = {file.stem: file.read_text() for file in ROOT.glob("*/sql/*.sql") if file.stem not in of_triggers}
    newest = dict(functions())
    assert {name: newest.get(name) for name in files} == files
    assert set(newest.values()) == set(files.values())


LATER = """
from pathlib import Path

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("staff", "0002_second_factors")]
    operations = [
        migrations.AddField("staff", "is_away", models.BooleanField(db_default=False)),
        migrations.RunSQL([(Path(__file__).parents[1] / "sql" / "staff_may.sql").read_text()]),
    ]
"""


def test_an_empty_database_gets_a_column_that_a_function_uses_later(db: None, tmp_path: Path) -> None:
    for name in (
        *("config", "core", "partners", "events", "staff", "users", "transactions", "sandbox", "backoffice"),
        *("docs_site", "demo", "templates"),
    ):
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "manage.py", tmp_path)
    function = tmp_path / "staff" / "sql" / "staff_may.sql"
    changed = function.read_text().replace("staff.is_active AND", "staff.is_active AND NOT staff.is_away AND")
    assert changed != function.read_text()
    function.write_text(changed)
    (tmp_path / "staff" / "migrations" / "0003_is_away.py").write_text(LATER)

    name, owner = f"later_psi_{os.getpid()}", connections[serving_role.OWNER].settings_dict
    url = database_url(serving_role.OWNER).replace(f"/{owner['NAME']}?", f"/{name}?")
    with psycopg.connect(database_url(serving_role.OWNER, SUPERUSER), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} OWNER {owner['USER']} TEMPLATE template0")
        try:
            environment = production(DJANGO_SETTINGS_MODULE="config.settings", OWNER_DATABASE_URL=url)
            migrate = (sys.executable, "manage.py", "migrate", "staff", "--verbosity", "0")
            subprocess.run(migrate, cwd=tmp_path, env=os.environ | environment, check=True)
            with psycopg.connect(url) as database:
                assert database.execute("SELECT staff_may_decide(0)").fetchone() == (False,)
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")
