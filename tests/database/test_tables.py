"""How the rows of each table end, what they refer to, how they are stored, and which app's SQL names them."""

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pgtrigger
import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection, connections, transaction

from core.database import serving_role
from core.database.triggers import set_storage
from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient, Response

# How rows end: with their user (transactions/sql/erase.sql), or as docs/security.md says

ERASED = re.findall(r"DELETE FROM (\w+)", (Path(settings.BASE_DIR) / "transactions" / "sql" / "erase.sql").read_text())
_REFERENCES = """
    WITH RECURSIVE of_users (name) AS (
        SELECT 'users_user'::regclass UNION
        SELECT conrelid::regclass FROM pg_constraint JOIN of_users ON confrelid = name WHERE contype = 'f'
    )
    SELECT name::text FROM of_users
"""
# Columns that name users without referring to them.
_NAMING = """
    SELECT DISTINCT table_name FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name <> 'users_erasure'
       AND (column_name IN ('user_ids', 'external_id') OR column_name = 'user_id' AND data_type = 'uuid')
"""


def test_every_table_with_a_user_in_it_is_erased(db: None) -> None:
    referring, naming = names(_REFERENCES), names(_NAMING)
    assert {"users_requirementresponse", "users_holdrelease"} <= referring
    assert {"events_outboxentry", "events_event", "users_userevent"} <= naming
    assert referring | naming <= set(ERASED)


def test_what_refers_to_other_rows_goes_before_them(db: None) -> None:
    order = list(dict.fromkeys(ERASED))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint WHERE contype = 'f'"
        )
        references = [(one, of) for one, of in cursor.fetchall() if one in order and of in order and one != of]
    assert len(references) > 10
    assert [(one, of) for one, of in references if order.index(one) > order.index(of)] == []


def test_every_table_says_how_its_rows_end(db: None) -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "security.md").read_text()
    section = text.split("## How rows end", 1)[1].split("\n## ", 1)[0]
    rows = dict(re.findall(r"^\| (`.+`) \| (.+) \|$", section, re.MULTILINE))
    said = {table: ending for tables, ending in rows.items() for table in re.findall(r"\w+", tables)}
    # Not the temporary one that an import in this session may have left.
    tables = names("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert tables - set(ERASED) <= set(said) <= tables
    assert {table for table, ending in said.items() if "with its user" in ending} <= set(ERASED)


def names(query: str) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return {name for (name,) in cursor.fetchall()}


# Storage parameters, changes without long locks, and references within a partner

_TO_USERS = """
    SELECT (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(r.conkey) WITH ORDINALITY AS k(number, place)
              JOIN pg_attribute a ON a.attrelid = r.conrelid AND a.attnum = k.number)::text[]
      FROM pg_constraint r
     WHERE r.contype = 'f' AND r.conrelid = %s::regclass AND r.confrelid = 'users_user'::regclass
"""
_IN_PLACE = "SELECT pg_stat_get_xact_tuples_updated(oid), pg_stat_get_xact_tuples_hot_updated(oid)"


def rows(statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


def test_a_profile_is_updated_within_its_page(
    api: PartnerClient, partner: Partner, create_user: Callable[..., Response]
) -> None:
    create_user(externalId="first")
    # Enough to fill the first user's page as far as inserts do.
    for _ in range(60):
        factories.UserFactory.create(partner=partner)
    before = rows(f"{_IN_PLACE} FROM pg_class WHERE relname = 'users_user'")[0]
    assert api.patch("/v1/users/first", {"city": "Ottawa"}).status == 200
    after = rows(f"{_IN_PLACE} FROM pg_class WHERE relname = 'users_user'")[0]
    assert (after[0] - before[0], after[1] - before[1]) == (1, 1)


@pytest.mark.parametrize("app", ["partners", "users", "transactions"])
def test_storage_is_changed_while_rows_are_read_and_written(
    django_db_setup: None, django_db_blocker: Any, app: str
) -> None:
    migration = importlib.import_module(f"{app}.migrations.0001_initial")
    operations = [set_storage(table, parameters) for table, parameters in migration.STORAGE.items()]
    assert operations
    with (
        django_db_blocker.unblock(),
        transaction.atomic(using=serving_role.OWNER),
        connections[serving_role.OWNER].cursor() as cursor,
    ):
        for operation in operations:
            cursor.execute(str(operation.sql))
        cursor.execute(
            "SELECT DISTINCT mode FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation' AND"
            " relation::regclass::text ~ '^(partners|users|transactions)_'"
        )
        assert cursor.fetchall() == [("ShareUpdateExclusiveLock",)]
        transaction.set_rollback(True, using=serving_role.OWNER)


@pytest.mark.parametrize("table", ["transactions_conversion", "transactions_document"])
def test_a_partner_s_rows_refer_to_that_partner_s_users(db: None, table: str) -> None:
    assert rows(_TO_USERS, table) == [(["user_id", "partner_id", "is_sandbox"],)]


# SQL of a lower app names no table of a higher one: in its folder `sql`, its triggers, and its modules' texts

# From below. Those above have no models, and name what they like.
APPS = ("core", "partners", "events", "staff", "users", "transactions")
NAMES = re.compile(rf"\b(?:{'|'.join(APPS)})_\w+")


def tables(app: str) -> set[str]:
    models = apps.get_app_config(app).get_models(include_auto_created=True)
    return {model._meta.db_table for model in models if model._meta.db_table.startswith(f"{app}_")}


def texts(app: str) -> Iterator[tuple[str, str]]:
    """The app's SQL, and all else that its modules have as text, each with where it is."""
    folder = settings.BASE_DIR / app
    for file in sorted(folder.rglob("*.sql")):
        yield file.name, file.read_text()
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{file.relative_to(folder)}:{node.lineno}", node.value
    for model, trigger in pgtrigger.registered():
        if model._meta.app_label == app:
            yield f"{model._meta.label}.{trigger.name}", str(trigger.compile(model).install_sql)


def test_sql_names_no_table_of_a_higher_app() -> None:
    for app in APPS:
        higher = {table for other in APPS[APPS.index(app) + 1 :] for table in tables(other)}
        named = [(where, table) for where, text in texts(app) for table in NAMES.findall(text)]
        assert [(where, table) for where, table in named if table in higher] == []
        # Where nothing is found, the texts are not read.
        assert {table for _where, table in named} & tables(app), app
