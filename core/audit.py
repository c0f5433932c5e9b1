"""The audit log: one line for each act, in one table that is only added to (`AuditEntry`).

Lines come from the history of a model that is `tracked`, from triggers with `insert_entry`, and from `record`, all with
the actor of the transaction's context (statements.py).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import pghistory
import pgtrigger
from django.db import DEFAULT_DB_ALIAS, models, transaction

from core.database import statements
from core.database.pipeline import Query
from core.database.schema import context_shape
from core.database.statements import PRESENT
from core.database.triggers import PermanentTrigger, append_only, json_object, recorded, trigger

T = TypeVar("T", bound=type[models.Model])

# What people read, by action.
ACTIONS: dict[str, Any] = {}
# The columns that lines name, for their labels and those of their values.
COLUMNS: dict[str, Any] = {}

# Who acts, by the names in the context, the first that is there; the kind of actor with it.
_ACTORS = {"staff": "staff", "by": "staff", "operator": "operator", "partner": "partner"}
# What the context has beside the actor.
_CIRCUMSTANCES = ("operator", "command", "key", "requestId", "source", "reason")


def register(action: str, label: Any) -> str:
    """Give an action its label; returns the action."""
    ACTIONS[action] = label
    return action


def insert_entry(
    action: str,
    *,
    object: str,  # noqa: A002 - the column's name
    detail: str = "'{}'",
    context: str = PRESENT,
    actor: str = "NULL::text",
    further: str = "",
    where: str = "true",
) -> str:
    """The SQL that adds a line. All arguments are SQL. object: what it was done to. detail, further: JSON objects.

    context: who did it. actor: the username of staff, whatever the context says. where: a condition on `context`.
    """
    circumstances = json_object({name: f"context ->> '{name}'" for name in _CIRCUMSTANCES})
    who = ", ".join(f"context ->> '{name}'" for name in _ACTORS)
    kinds = " ".join(f"WHEN context ? '{name}' THEN '{kind}'" for name, kind in _ACTORS.items())
    return f"""
        INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)
        SELECT coalesce({who}, ''), CASE {kinds} ELSE '' END, {action}, {object},
               jsonb_strip_nulls({circumstances} || {detail}{further and f" || {further}"})
          FROM (SELECT coalesce({context}, '{{}}') || jsonb_strip_nulls(jsonb_build_object('staff', {actor}))
                    AS context) AS given
         WHERE {where}
    """


_RECORD = insert_entry("%s", object="%s", detail="%s::jsonb", context=f"({PRESENT} || %s::jsonb)")


def record(
    action: str,
    *,
    object: str = "",  # noqa: A002 - the column's name
    detail: Mapping[str, object] | None = None,
    context: Mapping[str, str] | None = None,
    using: str = DEFAULT_DB_ALIAS,
) -> None:
    """Add a line. action: a registered one. context: who did it, where the transaction's does not say it."""
    if action not in ACTIONS:
        raise ValueError(f"{action} is not registered.")
    values = (action, object, json.dumps(detail or {}), json.dumps(context or {}))
    with transaction.atomic(using):
        statements.fetch(Query(_RECORD, values), using)


def entry_trigger(
    action: str, *, name: str = "audit", timing: str = "after insert", condition: str = "", **entry: Any
) -> PermanentTrigger:
    """The trigger that adds a line for each row. timing, condition: see trigger. The rest: see insert_entry."""
    return trigger(name, timing, f"{insert_entry(action, **entry)};", condition=condition)


def tracked(
    *fields: str,
    action: str,
    labels: Sequence[Any],
    object: str,  # noqa: A002
    detail: Mapping[str, str] | None = None,
    hidden: Sequence[str] = (),
    goes_with_row: bool = False,
) -> Callable[[T], T]:
    """Keep the history of a model's rows, with who changed them, and a line in the audit log for each change.

    The history is `<Model>Event`. fields: never a secret or a hash, nor a column that is written by mere use. A line
    has changes of those that are no foreign keys, nor in it already. action: the first part of the actions. labels: of
    a row that was created, changed and, if at all, removed. object: SQL with the columns of NEW. detail: SQL by name.
    hidden: fields whose values the line leaves out. goes_with_row: whether the history is deleted with its row.
    """
    events = recorded(*("insert", "update", "delete")[: len(labels)])
    for event, label in zip(("created", "changed", "removed"), labels, strict=False):
        register(f"{action}.{event}", label)

    def decorate(model: T) -> T:
        columns = {name: model._meta.get_field(name) for name in fields}  # noqa: SLF001
        COLUMNS.update(columns)
        elsewhere = {object, *(detail or {}).values()}
        shown = [name for name in fields if not columns[name].is_relation and f"NEW.{name}" not in elsewhere]
        name, app, table = f"{model.__name__}Event", model._meta.app_label, model._meta.db_table  # noqa: SLF001
        gone = f"NOT EXISTS (SELECT FROM {table} WHERE id = OLD.pgh_obj_id)"
        if goes_with_row:
            goes = f"DELETE FROM {app}_{name.lower()} WHERE pgh_obj_id = OLD.id;"
            pgtrigger.register(trigger("history_goes", "after delete", goes))(model)
        pghistory.create_event_model(
            model,
            *events,
            fields=list(fields),
            context_field=pghistory.ContextJSONField(),
            context_id_field=None,  # type: ignore[arg-type]  # as pghistory documents it
            append_only=False,  # our triggers do it, which cannot be disabled as pghistory's can
            obj_field=pghistory.ObjForeignKey(related_name="history", related_query_name="history", db_index=False),
            model_name=name,
            app_label=app,
            abstract=False,
            # pghistory's own is a 32-bit integer.
            attrs={"pgh_id": models.BigAutoField(primary_key=True)},
            meta={
                "default_permissions": (),
                "triggers": [
                    *append_only(deletable=gone if goes_with_row else ""),
                    _history_entry(f"{app}_{name.lower()}", action, object, detail or {}, shown, hidden),
                ],
                "indexes": [models.Index(fields=("pgh_obj", "pgh_id"), name=f"{name.lower()}_of_row")],
                "constraints": [context_shape("pgh_context", name=f"{name.lower()}_context_readable")],
            },
        )
        return model

    return decorate


def _history_entry(
    table: str, action: str, of: str, detail: Mapping[str, str], shown: Sequence[str], hidden: Sequence[str]
) -> PermanentTrigger:
    """The trigger on a history's table that adds a line with what has changed since the row before."""
    names = ", ".join(f"'{name}'" for name in shown)
    hide = ", ".join(f"'{name}'" for name in hidden)
    value = "coalesce(nullif({0} -> name, '\"\"'), 'null')"
    old, new = value.format("before"), value.format("after")
    values = f"jsonb_build_array({old}, {new})"
    if hidden:
        values = f'CASE WHEN name IN ({hide}) THEN \'["…", "…"]\' ELSE {values} END'
    changes = f"""(SELECT jsonb_object_agg(name, {values}) FROM unnest(ARRAY[{names}]::text[]) AS name
                    WHERE {old} IS DISTINCT FROM {new})"""
    verb = "CASE NEW.pgh_label WHEN 'insert' THEN 'created' WHEN 'update' THEN 'changed' ELSE 'removed' END"
    entry = insert_entry(
        f"'{action}.' || {verb}",
        object=of,
        detail=json_object({**detail, "changes": changes}),
        context="NEW.pgh_context",
    )
    return trigger(
        "audit",
        "after insert",
        f"""
            IF NEW.pgh_label = 'delete' THEN
                before := to_jsonb(NEW);
            ELSE
                after := to_jsonb(NEW);
                SELECT to_jsonb(earlier) INTO before FROM {table} AS earlier
                 WHERE pgh_obj_id = NEW.pgh_obj_id AND pgh_id < NEW.pgh_id ORDER BY pgh_id DESC LIMIT 1;
            END IF;
            {entry};
        """,
        declare=[("before", "jsonb"), ("after", "jsonb")],
    )
