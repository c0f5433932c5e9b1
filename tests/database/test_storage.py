"""The tables' storage parameters, changes without long locks, and obstacles to sharding."""

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection, connections, transaction

from partners.db import serving_role
from partners.db.operations import set_storage
from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient, Response

APPS = ("partners", "users", "transactions")
# On every node alike, or on one alone: docs/scaling.md.
NOT_DISTRIBUTED = (
    *("partners_partner", "partners_apikey", "users_staff", "users_accessrecord", "transactions_importrun"),
    *("partners_webhookendpoint", "partners_webhooksecret", "partners_webhookdelivery"),
    *("partners_partnerevent", "partners_auditentry", "users_secondfactor", "mfa_authenticator", "django_admin_log"),
)

_UNIQUE = """
    SELECT c.relname,
           (SELECT array_agg(a.attname ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = i.indexrelid)::text[]
      FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE i.indisunique AND c.relname = ANY(%s)
"""
_REFERENCES = """
    SELECT c.relname, f.relname,
           (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(r.conkey) WITH ORDINALITY AS k(number, place)
              JOIN pg_attribute a ON a.attrelid = r.conrelid AND a.attnum = k.number)::text[]
      FROM pg_constraint r JOIN pg_class c ON c.oid = r.conrelid JOIN pg_class f ON f.oid = r.confrelid
     WHERE r.contype = 'f' AND c.relname = ANY(%s) AND f.relname = ANY(%s)
"""
_WITHOUT_PARTNER = """
    SELECT name FROM unnest(%s::text[]) AS name
     WHERE NOT EXISTS (SELECT FROM pg_attribute
                        WHERE attrelid = name::regclass AND attname = 'partner_id' AND attnotnull)
"""
_IN_PLACE = "SELECT pg_stat_get_xact_tuples_updated(oid), pg_stat_get_xact_tuples_hot_updated(oid)"
_STATEMENT_TRIGGERS = """
    SELECT DISTINCT c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE NOT t.tgisinternal AND t.tgtype & 1 = 0 AND c.relname = ANY(%s)
"""


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


@pytest.mark.parametrize("app", APPS)
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


def distributed() -> list[str]:
    tables = {model._meta.db_table for label in APPS for model in apps.get_app_config(label).get_models()}
    return sorted(table for table in tables if not table.startswith(NOT_DISTRIBUTED))


def lacking() -> set[tuple[str, str]]:
    """What a database divided by partner would refuse: keys and references that leave the partner out."""
    tables = distributed()
    found = {(table, ", ".join(columns)) for table, columns in rows(_UNIQUE, tables) if "partner_id" not in columns}
    found |= {
        (table, f"{', '.join(columns)} → {other}")
        for table, other, columns in rows(_REFERENCES, tables, tables)
        if "partner_id" not in columns
    }
    found |= {(table, "partner_id") for (table,) in rows(_WITHOUT_PARTNER, tables)}
    return found | {(table, "TRUNCATE trigger") for (table,) in rows(_STATEMENT_TRIGGERS, tables)}


def test_the_document_names_all_obstacles_to_sharding(db: None) -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "scaling.md").read_text()
    section = text.split("### What it refuses", 1)[1].split("\n#", 1)[0]
    assert set(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", section, re.MULTILINE)) == lacking()


def test_a_partner_s_rows_refer_to_that_partner_s_users(db: None) -> None:
    references = {(table, other): columns for table, other, columns in rows(_REFERENCES, distributed(), distributed())}
    for table in ("transactions_conversion", "transactions_document"):
        assert references[table, "users_user"] == ["user_id", "partner_id", "is_sandbox"]
