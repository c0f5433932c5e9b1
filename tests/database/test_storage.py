"""The tables' storage parameters, changes without long locks, and references within a partner."""

import importlib
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections, transaction

from core.database import serving_role
from core.database.operations import set_storage
from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient, Response

_REFERENCES = """
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
    assert rows(_REFERENCES, table) == [(["user_id", "partner_id", "is_sandbox"],)]
