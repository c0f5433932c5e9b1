"""Operations of migrations: triggers, storage parameters."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.migrations.operations import RunSQL
from django.db.migrations.operations.base import Operation
from pgtrigger.compiler import Trigger
from pgtrigger.migrations import AddTrigger


class AddTriggers(Operation):
    """Adds triggers of a model. model_name: in lower case.

    pgtrigger's AddTrigger, which `makemigrations` writes, renders the model and all those related to it once for each
    trigger: half the time of a new database's migrations.
    """

    reversible = True

    def __init__(self, model_name: str, triggers: Sequence[Trigger]) -> None:
        self.model_name, self.triggers = model_name, triggers

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Keep them with the model's options, where pgtrigger looks for them."""
        options = state.models[app_label, self.model_name].options
        options["triggers"] = [*options.get("triggers", []), *self.triggers]
        state.reload_model(app_label, self.model_name, delay=True)

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Create each."""
        for trigger in self.triggers:
            AddTrigger(self.model_name, trigger).database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop each, the last one first."""
        for trigger in reversed(self.triggers):
            AddTrigger(self.model_name, trigger).database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        """For the output of `migrate`."""
        return f"Create triggers {', '.join(str(one.name) for one in self.triggers)} on model {self.model_name}"


def set_storage(table: str, parameters: Mapping[str, float]) -> RunSQL:
    """Set storage parameters of a table; docs/scaling.md says why these numbers.

    It takes SHARE UPDATE EXCLUSIVE, which neither reads nor writes wait for. A page that is full already stays so until
    its rows have moved.
    """
    given = ", ".join(f"{name} = {value}" for name, value in parameters.items())
    return RunSQL(f"ALTER TABLE {table} SET ({given})", f"ALTER TABLE {table} RESET ({', '.join(parameters)})")
