"""A guard: what a staff request or a command writes in autocommit adds no line of the audit log that names nobody.

Only a transaction begins with the context that names who acts (core/database/statements.py).
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

_WRITES = re.compile(r"\b(INSERT INTO|UPDATE|DELETE FROM)\b")
_SET_CONTEXT = "set_config('pghistory.context_metadata', %s, true)"
_NAMELESS = "(SELECT count(*) FROM core_auditentry WHERE actor_kind = '')"
_BEFORE = f"""
    WITH was AS MATERIALIZED (SELECT coalesce(current_setting('pghistory.context_metadata', true), '') AS context)
    SELECT context, {_NAMELESS}, {_SET_CONTEXT} FROM was
"""
_AFTER = f"SELECT {_NAMELESS}, {_SET_CONTEXT}"


@pytest.fixture(autouse=True)
def lines_name_who_acts() -> Iterator[None]:
    """Fail where a statement outside `atomic` adds such a line: it is run without a context, as in autocommit."""

    def values(statement: str, context: str) -> Any:
        return connection.connection.execute(statement, (context,)).fetchone()

    def check(execute: Callable[..., Any], sql: str, *args: Any) -> Any:
        # The test's own transaction does not count.
        in_autocommit = all(getattr(block, "_from_testcase", False) for block in connection.atomic_blocks)
        if not (connection.begin_with and in_autocommit and _WRITES.search(sql)):  # type: ignore[attr-defined]
            return execute(sql, *args)
        # Sends the context, if it is due.
        connection.cursor().close()
        context, before, _ = values(_BEFORE, "")
        result = execute(sql, *args)
        assert values(_AFTER, context)[0] == before, (
            f"not in a transaction, so the audit log does not say who did it: {sql}"
        )
        return result

    with connection.execute_wrapper(check):
        yield
