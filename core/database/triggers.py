"""Triggers that no session setting disables.

pgtrigger's own can be skipped by `pgtrigger.ignore`, and run with the rights and search path of the session. These run
as the schema's owner. PUBLIC may not execute their functions, which could otherwise be attached to other tables.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pghistory
import pgtrigger
from django.apps import apps
from django.db.migrations.operations import RunSQL
from django.db.migrations.operations.base import Operation
from pghistory import trigger as history_trigger
from pgtrigger import compiler
from pgtrigger.migrations import AddTrigger

OPERATIONS = {"insert": pgtrigger.Insert, "update": pgtrigger.Update, "delete": pgtrigger.Delete}


class PermanentTriggerSql(compiler.UpsertTriggerSql):
    """pgtrigger's SQL for installing a trigger, without `pgtrigger.ignore`. Migrations refer to this class."""

    function = """
            CREATE OR REPLACE FUNCTION {pgid}()
            RETURNS TRIGGER AS $$
                {declare}
                BEGIN
                    {func}
                END;
            $$ LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp;
            REVOKE ALL ON FUNCTION {pgid}() FROM PUBLIC;
"""
    trigger = """
            DROP TRIGGER IF EXISTS {pgid} ON {table};
            CREATE {constraint} TRIGGER {pgid}
                {when} {operation} ON {table}
                {timing}
                {referencing}
                FOR EACH {level} {condition}
                EXECUTE PROCEDURE {execute};

            COMMENT ON TRIGGER {pgid} ON {table} IS '{hash}';
        """

    def get_template(self) -> str:
        """The SQL template. It must not change: existing migrations depend on it."""
        return self.function + self.trigger


class FunctionTriggerSql(PermanentTriggerSql):
    """The same for a trigger whose function is defined as a whole. Migrations refer to this class."""

    function = "\n            {func}\n"


class PermanentTrigger(pgtrigger.Trigger):
    """A trigger installed by PermanentTriggerSql."""

    sql_class = PermanentTriggerSql

    def compile(self, model: Any) -> compiler.Trigger:
        """The trigger for migrations, with the SQL of this class."""
        values = super().compile(model).sql.kwargs
        return compiler.Trigger(name=self.name, sql=self.sql_class(**values))


class FunctionTrigger(PermanentTrigger):
    """A trigger whose function is the file of its name in the app's folder `sql`; its change needs a migration."""

    sql_class = FunctionTriggerSql

    def __init__(self, *, function: str, arguments: Sequence[object] = (), **of_trigger: Any) -> None:
        """arguments: what the function reads as TG_ARGV."""
        super().__init__(**of_trigger)
        self.function, self.arguments = function, arguments

    def render_func(self, model: Any) -> str:
        """The definition of the function."""
        app = apps.get_app_config(model._meta.app_label)  # noqa: SLF001 - Django's public name for it
        return (Path(app.path) / "sql" / f"{self.function}.sql").read_text()

    def render_execute(self, model: Any) -> str:
        """The call of the function."""
        arguments = ", ".join(f"'{one}'" for one in self.arguments)
        return f"{self.function}({arguments})"


def trigger(
    name: str,
    timing: str,
    body: str = "",
    *,
    function: str = "",
    arguments: Sequence[object] = (),
    condition: str = "",
    rows: str = "",
    declare: Sequence[tuple[str, str]] = (),
) -> PermanentTrigger:
    """A trigger with its body, which returns by itself, or with a function of the folder `sql` (FunctionTrigger).

    timing: as in SQL, such as `before update of status`. condition: SQL on OLD and NEW. rows: the name that the body
    has for all inserted rows, of a trigger for each statement. declare: the body's variables, with their types.
    """
    when, operation, *columns = timing.replace(" of ", " ").replace(",", "").split()
    options: dict[str, Any] = {
        "name": name,
        "when": pgtrigger.Before if when == "before" else pgtrigger.After,
        "operation": pgtrigger.UpdateOf(*columns) if columns else OPERATIONS[operation],  # type: ignore[no-untyped-call]
        "condition": pgtrigger.Condition(condition) if condition else None,
    }
    if rows:
        options |= {"level": pgtrigger.Statement, "referencing": pgtrigger.Referencing(new=rows)}  # type: ignore[no-untyped-call]
    if function:
        return FunctionTrigger(**options, function=function, arguments=arguments)
    options["declare"] = declare or None
    return PermanentTrigger(**options, func=f"{body} RETURN {'NEW' if when == 'before' else 'NULL'};")


def refuse(message: str) -> str:
    """The body of a trigger that raises an integrity error."""
    return f"RAISE EXCEPTION '{message}' USING ERRCODE = 'integrity_constraint_violation';"


# While a user is erased: in no other transaction, and not after the statement that does it. The app that erases defines
# the function (users/sql/is_erasing.sql). The depth: what else such a statement deletes by itself is refused.
IS_ERASING = "pg_trigger_depth() > 1 AND is_erasing()"


def append_only(
    *operations: Any, deletable: str = "", blanked: str = "", marked: str = ""
) -> Sequence[pgtrigger.Trigger]:
    """Triggers that refuse UPDATE and DELETE, or only `operations`, and TRUNCATE.

    Rows go with their user: the function that erases one may delete them, and nobody else. deletable: SQL of OLD,
    whether a row has served its time. blanked: a column that this function may change in rows of others. marked: a
    column that another trigger, and nobody else, may set to true.
    """
    exceptions = {
        pgtrigger.Delete: f"""
    IF {IS_ERASING} THEN RETURN OLD; END IF;
    """
        + (f"IF {deletable} THEN RETURN OLD; END IF; " if deletable else ""),
        pgtrigger.Update: f"""
    IF {IS_ERASING} AND to_jsonb(OLD) - '{blanked}' = to_jsonb(NEW) - '{blanked}' THEN RETURN NEW; END IF;
    """
        if blanked
        else f"""
    IF pg_trigger_depth() > 1 AND NEW.{marked} AND to_jsonb(OLD) - '{marked}' = to_jsonb(NEW) - '{marked}' THEN
        RETURN NEW;
    END IF;
    """
        if marked
        else "",
    }
    return [
        PermanentTrigger(
            name=f"no_{str(operation).lower()}",
            when=pgtrigger.Before,
            operation=operation,
            level=pgtrigger.Statement if operation is pgtrigger.Truncate else pgtrigger.Row,
            func=exceptions.get(operation, "") + refuse("This table refuses it: its rows are kept for good."),
        )
        for operation in (*(operations or (pgtrigger.Update, pgtrigger.Delete)), pgtrigger.Truncate)
    ]


def stamped(*columns: str) -> PermanentTrigger:
    """The trigger that sets when a row was written, whatever the client says: Django names the columns in an INSERT."""
    return trigger("time", "before insert", " ".join(f"NEW.{column} := clock_timestamp();" for column in columns))


def json_object(values: Mapping[str, str]) -> str:
    """The SQL of a JSON object. values: expressions by name."""
    arguments = ", ".join(f"'{name}', {expression}" for name, expression in values.items())
    return f"jsonb_build_object({arguments})"


class _PermanentEvent(PermanentTrigger, history_trigger.Event):
    """pghistory's trigger, installed by PermanentTriggerSql."""


class PermanentTracker(pghistory.RowEvent):
    """Records the rows of an operation, by a trigger that is installed by PermanentTriggerSql."""

    def add_event_trigger(self, event_model: Any) -> None:
        """Register it with the model whose rows are recorded."""
        names = ("label", "row", "operation", "condition", "level")
        options = {name: getattr(self, name) for name in names} | {"name": self.trigger_name}
        event: Any = _PermanentEvent(event_model=event_model, **options)  # type: ignore[no-untyped-call]
        pgtrigger.register(event)(event_model.pgh_tracked_model)


def recorded(*operations: str, **options: Any) -> list[PermanentTracker]:
    """What records inserted, updated (if a value changed) or deleted rows. operations: `insert`, `update`, `delete`."""
    rows = {"insert": "NEW", "update": "NEW", "delete": "OLD"}
    return [PermanentTracker(one, row=rows[one], operation=OPERATIONS[one], **options) for one in operations]


# --- Operations of migrations ---


class AddTriggers(Operation):
    """Adds triggers of a model (lower case) in half the time of pgtrigger's AddTrigger, which renders it each time."""

    def __init__(self, model_name: str, triggers: Sequence[compiler.Trigger]) -> None:
        self.model_name, self.triggers = model_name, triggers

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Keep them with the model's options, where pgtrigger looks for them."""
        options = state.models[app_label, self.model_name].options
        options["triggers"] = [*options.get("triggers", []), *self.triggers]
        state.reload_model(app_label, self.model_name, delay=True)

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Create each."""
        for one in self.triggers:
            AddTrigger(self.model_name, one).database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop each, the last one first."""
        for one in reversed(self.triggers):
            AddTrigger(self.model_name, one).database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        """For the output of `migrate`."""
        return f"Create triggers {', '.join(str(one.name) for one in self.triggers)} on model {self.model_name}"


def set_storage(table: str, parameters: Mapping[str, float]) -> RunSQL:
    """Set storage parameters of a table (docs/scaling.md), by a lock that neither reads nor writes wait for."""
    given = ", ".join(f"{name} = {value}" for name, value in parameters.items())
    return RunSQL(f"ALTER TABLE {table} SET ({given})", f"ALTER TABLE {table} RESET ({', '.join(parameters)})")
