"""The context of history rows: who changed a row, and by which request or command.

pghistory's triggers read it from a setting of the transaction. Its own context manager would add a second command to
each statement, which server-side binding refuses.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

from django.db import connection, transaction

from partners.db import statements

_NAME = "pghistory.context_metadata"
# To be part of another statement; its parameter is the result of `context`.
SET_CONTEXT = f"set_config('{_NAME}', %s, true)"
# SQL of the present context, as jsonb.
PRESENT = f"coalesce(nullif(current_setting('{_NAME}', true), '')::jsonb, '{{}}')"

# What `acting` has said of a command stays.
_OF_COMMAND = ", ".join(f"'{name}', {PRESENT} ->> '{name}'" for name in ("operator", "command"))
_REPLACE = f"""
    SELECT set_config('{_NAME}', (jsonb_strip_nulls(jsonb_build_object({_OF_COMMAND})) || %s::jsonb)::text, true)
"""
_WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE|WITH|COPY|MERGE)\b", re.IGNORECASE)
# Tables whose rows have a column for who wrote them, or need none: a page that records its opening costs no more.
_SELF_EXPLAINING = re.compile(
    r'\s*(INSERT INTO|UPDATE|DELETE FROM)\s+"?(django_session|staff_cache|users_accessrecord|users_claim)\b'
)


def context(**values: str) -> str:
    """The parameter of SET_CONTEXT. No personal data of users.

    values: partner, key, staff, operator (of a command), command, by and reason (its arguments), source, requestId.
    """
    return json.dumps(values)


def set_context(**values: str) -> None:
    """Set the context of the present transaction, without the empty values; a command and its operator stay named."""
    statements.fetch_one(_REPLACE, (context(**{name: value for name, value in values.items() if value}),))


@contextmanager
def acting(values: Callable[[], Mapping[str, str]]) -> Iterator[None]:
    """Have all that this thread writes meanwhile name who does it, with one more statement a transaction.

    values: called before a transaction's first write; for a staff request that is when the person is known.
    """
    # The open blocks when the context was set, which ends with any of them that is rolled back, and what it said.
    named: tuple[list[Any], Mapping[str, str]] = ([], {})
    is_asking = False

    def name_actor(execute: Any, sql: Any, parameters: Any, many: Any, details: Any) -> Any:
        nonlocal named, is_asking
        # To find out who it is may write too: a session. What `set_context` says comes after, and stays.
        if is_asking or not _needs_actor(str(sql)):
            return execute(sql, parameters, many, details)
        is_asking = True
        try:
            present = values()
        finally:
            is_asking = False
        with transaction.atomic() if connection.autocommit else nullcontext():
            blocks, named_values = named
            if not blocks or _undoable_blocks()[: len(blocks)] != blocks or named_values != present:
                statements.fetch_one(f"SELECT {SET_CONTEXT}", (context(**present),))
                named = (_undoable_blocks(), present)
            return execute(sql, parameters, many, details)

    with connection.execute_wrapper(name_actor):
        yield


def _needs_actor(sql: str) -> bool:
    return sql == _REPLACE or bool(_WRITES.match(sql) and not _SELF_EXPLAINING.match(sql))


def _undoable_blocks() -> list[Any]:
    """The open transaction and its savepoints."""
    outermost, *inner = connection.atomic_blocks
    return [outermost, *(block for block in inner if block.savepoint)]
