"""Migrations run while the previous version serves."""

import pytest
from django.db import connections, transaction
from django.db.migrations.loader import MigrationLoader

from partners.db import serving_role
from partners.db.operations import AddTriggers
from tests.database.migration_rules import violations

# Before there was a version to serve: its tables were empty.
BEFORE = {"partners": "0001_initial", "users": "0001_initial", "transactions": "0001_initial"}


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
