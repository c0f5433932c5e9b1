"""The context of history rows: who changed a row, and by which request or command.

pghistory's triggers read it from a setting of the transaction. Its own context manager would add a second command to
each statement, which server-side binding refuses.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from django.db import DEFAULT_DB_ALIAS, connections

from core.database import statements
from core.database.base import CONTEXT_NAME, DatabaseWrapper

# SQL of the present context, as jsonb.
PRESENT = f"coalesce(nullif(current_setting('{CONTEXT_NAME}', true), '')::jsonb, '{{}}')"

# What `acting` has said of a command stays.
_OF_COMMAND = ", ".join(f"'{name}', {PRESENT} ->> '{name}'" for name in ("operator", "command"))
_REPLACE = f"""
    SELECT set_config('{CONTEXT_NAME}', (jsonb_strip_nulls(jsonb_build_object({_OF_COMMAND})) || %s::jsonb)::text, true)
"""


def context(**values: str) -> str:
    """The parameter of SET_CONTEXT. No personal data of users.

    values: partner, key, staff, operator (of a command), command, by and reason (its arguments), source, requestId.
    """
    return json.dumps(values)


def set_context(**values: str) -> None:
    """Set the context of the present transaction, without the empty values; a command and its operator stay named."""
    statements.fetch_one(_REPLACE, (context(**{name: value for name, value in values.items() if value}),))


def act_as(**values: str) -> None:
    """Have each transaction of this thread begin with this context, or without one if there are no values.

    An open one gets it with its next statement. What is written in autocommit names nobody, so what adds a line of the
    audit log or of a history is `atomic`.
    """
    _wrapper().begin_with = context(**values) if values else ""


@contextmanager
def acting(**values: str) -> Iterator[None]:
    """Have the transactions that this thread begins meanwhile name who does it: `act_as`, until the block ends."""
    wrapper = _wrapper()
    before = wrapper.begin_with
    act_as(**values)
    try:
        yield
    finally:
        wrapper.begin_with = before


def _wrapper() -> DatabaseWrapper:
    return cast("DatabaseWrapper", connections[DEFAULT_DB_ALIAS])
