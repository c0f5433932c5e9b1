"""The databases of tests: a code's first run migrates one, and each process has a copy of it."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import psycopg
from django.apps import apps
from django.conf import settings
from django.db import connections, transaction
from psycopg import sql

from config.embedded.server import SUPERUSER
from core.database import serving_role

ROOT = Path(settings.BASE_DIR)
_COPIES, _TEMPLATES = "test_psi_", "migrated_psi_"
# What a migrated database is made of. Few of these files are read by migrations, but none is forgotten so.
_SOURCES = (
    "config",
    "core",
    "partners",
    "events",
    "staff",
    "users",
    "transactions",
    "sandbox",
    "backoffice",
    "requirements",
)


@contextmanager
def migrated_copy() -> Iterator[str]:
    """Let both connections use a database of this process alone; yield its name."""
    owner, serving = connections[serving_role.OWNER], connections[serving_role.SERVING]
    owner.ensure_connection()
    owner.close()
    name = f"{_COPIES}{os.getpid()}"
    with psycopg.connect(_maintenance("postgres"), autocommit=True) as server:
        # One process at a time: the others copy what the first has migrated.
        server.execute("SELECT pg_advisory_lock(0)")
        template = f"{_TEMPLATES}{_digest()}"
        found = _drop_unused(server, template)
        if template not in found:
            _migrate(server, template)
        server.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {}").format(
                *map(sql.Identifier, (name, template, owner.settings_dict["USER"]))
            )
        )
    owner.settings_dict["NAME"] = name
    serving.creation.set_as_test_mirror(owner.settings_dict)
    # A copy has none of the privileges on the database itself.
    serving_role.grant(serving_role.serving_role() or "")
    serving.close()
    try:
        yield name
    finally:
        connections.close_all()
        with psycopg.connect(_maintenance("postgres"), autocommit=True) as server:
            _drop(server, name)


def empty() -> None:
    """Delete what tests committed, but what migrations wrote.

    Most files leave rows in few of the tables, and TRUNCATE makes new files for each index of each table that refers to
    one of them.
    """
    tables = [
        model._meta.db_table
        for model in apps.get_models()
        if model._meta.app_label in {"core", "partners", "events", "staff", "users", "transactions"}
        and model._meta.managed
    ] + ["staff_cache", "django_session"]
    found = " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table})" for table in tables)
    with psycopg.connect(
        _maintenance(connections[serving_role.SERVING].settings_dict["NAME"]), autocommit=True
    ) as server:
        # Triggers and foreign keys refuse it to everybody else.
        server.execute("SET session_replication_role = replica")
        while True:
            # A live server may still handle a request, and lock the tables in another order.
            with suppress(psycopg.errors.DeadlockDetected), server.transaction():
                for (table,) in server.execute(found).fetchall():
                    server.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
                break


def _maintenance(database: str) -> str:
    host = connections[serving_role.OWNER].settings_dict["HOST"]
    return f"postgresql://{SUPERUSER}@/{database}?host={quote(host)}"


def _digest() -> str:
    digest = hashlib.sha256()
    for folder in _SOURCES:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in {".py", ".sql", ".txt"}:
                digest.update(b"%s %d\n" % (os.fsencode(file), file.stat().st_size))
                digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _migrate(server: psycopg.Connection, template: str) -> None:
    owner = connections[serving_role.OWNER]
    # Another name until all is there: a run that is killed leaves nothing that looks like a migrated database.
    owner.settings_dict["TEST"]["NAME"] = unfinished = f"{_COPIES}unfinished"
    owner.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    owner.close()
    server.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(*map(sql.Identifier, (unfinished, template))))


def _drop_unused(server: psycopg.Connection, template: str) -> set[str]:
    """Drop what ended runs and earlier code left; return the databases that stay."""
    names = {name for (name,) in server.execute("SELECT datname FROM pg_database")}
    for name in sorted(names):
        if (name.startswith(_TEMPLATES) and name != template) or (name.startswith(_COPIES) and not _runs(name)):
            _drop(server, name)
    return names


def _runs(name: str) -> bool:
    process = name.removeprefix(_COPIES)
    return process.isdigit() and Path(f"/proc/{process}").exists()


def _drop(server: psycopg.Connection, name: str) -> None:
    # Somebody's session, of a browser of databases for one.
    with suppress(psycopg.errors.ObjectInUse):
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def undone() -> Iterator[None]:
    """Roll back what the block does."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
