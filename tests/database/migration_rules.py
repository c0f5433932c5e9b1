"""What a migration may do while the version before it serves (docs/how-to/a-migration.md)."""

import re
from collections.abc import Iterator
from typing import Any

from django.contrib.postgres.operations import (
    AddConstraintNotValid,
    AddIndexConcurrently,
    RemoveIndexConcurrently,
    ValidateConstraint,
)
from django.db import migrations
from django.db.migrations.operations.base import Operation
from django.db.models import ManyToManyField, Value
from django.db.models.fields import NOT_PROVIDED
from django.db.models.functions import Now
from pgtrigger.migrations import AddTrigger, RemoveTrigger

from core.database.triggers import AddTriggers

# None of them holds a lock for longer than it takes to write to the catalogue.
SHORT = (
    *(migrations.CreateModel, migrations.AlterModelOptions, migrations.AlterModelManagers, migrations.RemoveField),
    *(migrations.RemoveConstraint, migrations.DeleteModel),
    *(AddIndexConcurrently, RemoveIndexConcurrently, AddConstraintNotValid, ValidateConstraint),
    *(AddTrigger, AddTriggers, RemoveTrigger),
)
SHORT_SQL = re.compile(
    r"(--[^\n]*\n)*"  # A comment above a function.
    r"(ALTER TABLE \w+ (SET|RESET) \([^()]*\)|ALTER TABLE \w+ ADD CONSTRAINT .* NOT VALID|ALTER TABLE \w+ VALIDATE .*"
    r"|(CREATE( UNIQUE)?|DROP) INDEX CONCURRENTLY .*|CREATE TABLE .*|COMMENT ON .*"
    r"|CREATE( OR REPLACE)? FUNCTION .*|REVOKE .* ON FUNCTION .*|DROP FUNCTION .*)",
    re.IGNORECASE | re.DOTALL,
)


def violations(migration: migrations.Migration) -> Iterator[str]:
    """What in a migration would hold up, or break, the version that serves. A table that it makes itself is free."""
    made = {one.name.lower() for one in migration.operations if isinstance(one, migrations.CreateModel)}
    for operation in migration.operations:
        if str(getattr(operation, "model_name", "")).lower() not in made:
            for violation in _of(operation, made):
                yield f"{migration}: {operation.describe()}: {violation}"


def _of(operation: Operation, made: set[str]) -> Iterator[str]:
    if isinstance(operation, migrations.SeparateDatabaseAndState):
        for one in operation.database_operations:
            yield from _of(one, made)
    elif isinstance(operation, migrations.RunSQL):
        yield from _of_sql(operation)
    elif isinstance(operation, migrations.AddField):
        yield from _of_field(operation.field)
    elif not isinstance(operation, SHORT):
        yield "is not on the list of short operations: see docs/how-to/a-migration.md"


def _of_sql(operation: migrations.RunSQL) -> Iterator[str]:
    statements = operation.sql if isinstance(operation.sql, (list, tuple)) else str(operation.sql).split(";")
    for statement in statements:
        text = str(statement[0] if isinstance(statement, (list, tuple)) else statement).strip()
        if text and not SHORT_SQL.fullmatch(text):
            yield f"is not on the list of short statements: {text[:60]}"


def _of_field(field: Any) -> Iterator[str]:
    given = getattr(field, "db_default", NOT_PROVIDED)
    if not field.null and given is NOT_PROVIDED:
        yield "the old version inserts rows without it: null=True or db_default"
    if not isinstance(given, (Value, Now)) and hasattr(given, "resolve_expression"):
        yield "a default that differs from row to row rewrites the table"
    if field.unique or field.db_index:
        yield "builds its index under a lock: AddIndexConcurrently, in a migration of its own"
    if getattr(field, "db_constraint", False):
        yield "is checked row by row under a lock: db_constraint=False, and a constraint NOT VALID"
    if isinstance(field, ManyToManyField):
        yield "makes a table of its own: as a model"
