"""Migrations run while the previous version serves."""

import pytest
from django.contrib.postgres.operations import AddConstraintNotValid, AddIndexConcurrently
from django.db import connections, migrations, models, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.models.functions import Now, Random

from partners.db import serving_role
from partners.db.operations import AddTriggers
from tests.database.migration_rules import violations

# Before there was a version to serve: its tables were empty.
BEFORE = {"partners": "0001_initial", "users": "0001_initial", "transactions": "0001_initial"}

INDEX = models.Index(fields=["city"], name="by_city")
CHECK = models.CheckConstraint(condition=models.Q(city__gt=""), name="city_given")

REFUSED: dict[str, Operation] = {
    "an index under a lock": migrations.AddIndex("user", INDEX),
    "a constraint that is checked at once": migrations.AddConstraint("user", CHECK),
    "a column that must be given": migrations.AddField("user", "nickname", models.TextField()),
    "a column with a default of Python's": migrations.AddField("user", "nickname", models.TextField(default="")),
    "a default for each row": migrations.AddField("user", "lot", models.FloatField(db_default=Random())),
    "a unique column": migrations.AddField("user", "nickname", models.TextField(null=True, unique=True)),
    "a foreign key": migrations.AddField("user", "by", models.ForeignKey("users.Staff", models.PROTECT, null=True)),
    "another type": migrations.AlterField("user", "city", models.TextField()),
    "another name": migrations.RenameField("user", "city", "town"),
    "data": migrations.RunPython(migrations.RunPython.noop),
    "an index in SQL": migrations.RunSQL("CREATE INDEX by_city ON users_user (city)"),
    "a rewrite in SQL": migrations.RunSQL("ALTER TABLE users_user ALTER city TYPE text USING upper(city)"),
    "a second statement": migrations.RunSQL("COMMENT ON TABLE users_user IS 'x'; UPDATE users_user SET city = ''"),
    "a key checked at once": migrations.RunSQL("ALTER TABLE a ADD CONSTRAINT b FOREIGN KEY (c) REFERENCES d (e)"),
    "behind another": migrations.SeparateDatabaseAndState([migrations.AddIndex("user", INDEX)]),
}
ALLOWED: dict[str, Operation] = {
    "an index beside the traffic": AddIndexConcurrently("user", INDEX),
    "a constraint for what is new": AddConstraintNotValid("user", CHECK),
    "a nullable column": migrations.AddField("user", "nickname", models.TextField(null=True)),
    "a default of the database": migrations.AddField("user", "seen_at", models.DateTimeField(db_default=Now())),
    "a constant": migrations.AddField("user", "nickname", models.TextField(db_default="")),
    "storage": migrations.RunSQL("ALTER TABLE users_user SET (fillfactor = 90)"),
    "a key for what is new": migrations.RunSQL("ALTER TABLE a ADD CONSTRAINT b CHECK (c > 0) NOT VALID"),
}


def migration(*operations: Operation) -> migrations.Migration:
    class Made(migrations.Migration):
        pass

    Made.operations = list(operations)
    return Made("0099_later", "users")


def test_every_migration_of_a_version_in_use_leaves_the_one_before_it_serving() -> None:
    held = [one for (app, name), one in MigrationLoader(None).disk_migrations.items() if name > BEFORE.get(app, "~")]
    assert held
    assert [violation for one in held for violation in violations(one)] == []


@pytest.mark.parametrize("operation", REFUSED.values(), ids=REFUSED)
def test_a_migration_with_a_long_lock_is_refused(operation: Operation) -> None:
    assert list(violations(migration(operation)))


@pytest.mark.parametrize("operation", ALLOWED.values(), ids=ALLOWED)
def test_a_migration_with_a_short_lock_is_accepted(operation: Operation) -> None:
    assert list(violations(migration(operation))) == []


def test_a_table_that_the_migration_makes_may_get_anything() -> None:
    table = migrations.CreateModel(
        "Note", [("id", models.BigAutoField(primary_key=True)), ("city", models.TextField())]
    )
    assert list(violations(migration(table, migrations.AddIndex("note", INDEX)))) == []


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
