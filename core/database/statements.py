"""Prepared statements on Django's connection, for the few queries of every request; everything else uses the ORM.

And the context of history rows: who changed a row, by which request or command, in a setting of the transaction.
pghistory's own context manager would add a second command to each statement, which server-side binding refuses.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

import structlog
from django.db import DEFAULT_DB_ALIAS, connections

from core.database.base import CONTEXT_NAME, DatabaseWrapper
from core.database.errors import RETRYABLE_SQLSTATES, STALE_PLAN, sqlstate
from core.database.pipeline import Query, T

log = structlog.get_logger("core.database.statements")

Row = tuple[Any, ...]

_STATEMENT_TIMEOUT = "SELECT set_config('statement_timeout', %s, true)"
# The maximum pause before each retry.
RETRY_PAUSES_SECONDS = (0.05, 0.2)
# A retry may wait for a lock as long as the first attempt, and a response is due within 5 seconds.
RETRY_WITHIN_SECONDS = 1.9

# SQL of the present context, as jsonb.
PRESENT = f"coalesce(nullif(current_setting('{CONTEXT_NAME}', true), '')::jsonb, '{{}}')"

# What `acting` has said of a command stays.
_OF_COMMAND = ", ".join(f"'{name}', {PRESENT} ->> '{name}'" for name in ("operator", "command"))
_REPLACE = f"""
    SELECT set_config('{CONTEXT_NAME}', (jsonb_strip_nulls(jsonb_build_object({_OF_COMMAND})) || %s::jsonb)::text, true)
"""


def _connection(using: str = DEFAULT_DB_ALIAS) -> DatabaseWrapper:
    return cast("DatabaseWrapper", connections[using])


def fetch(query: Query[T], using: str = DEFAULT_DB_ALIAS) -> list[T]:
    """The rows of a query. Raises Django's database errors, as do the functions below."""
    return _connection(using).run((query,))[0].rows


def fetch_both(first: Query[Any], second: Query[Any] | None) -> tuple[list[Any], list[Any] | None]:
    """The rows of two queries, in one round trip; None for the second where there is none."""
    results = _connection().run((first, second) if second else (first,))
    return results[0].rows, results[1].rows if second else None


def fetch_first(*queries: Query[Any]) -> list[list[Any]]:
    """The rows of a request's first queries, which only read: see `run_first` of the connection."""
    return [result.rows for result in _connection().run_first(queries)]


def fetch_all(statement: str, parameters: Sequence[object]) -> list[Row]:
    """All rows of a statement."""
    return fetch(Query(statement, parameters))


def fetch_one(statement: str, parameters: Sequence[object], using: str = DEFAULT_DB_ALIAS) -> Row | None:
    """The first row of a statement, or None."""
    rows: list[Row] = fetch(Query(statement, parameters), using)
    return rows[0] if rows else None


def run(statement: str, parameters: Sequence[object]) -> int:
    """Run a statement; return the number of changed rows."""
    return _connection().run((Query(statement, parameters),))[0].rows_affected


def queue(query: Query[Any]) -> None:
    """Send a statement of the present transaction together with the next one, or with COMMIT."""
    _connection().queue(query)


def response_timeout(seconds: float) -> AbstractContextManager[None]:
    """Wait up to `seconds` for each response; for use around a transaction with that `statement_timeout`."""
    return _connection().response_timeout(seconds)


def fetch_within(seconds: int, query: Query[T]) -> list[T]:
    """The rows of a query that may take so long, in one round trip; a transaction has the limit up to its end."""
    with response_timeout(seconds):
        return _connection().run((Query(_STATEMENT_TIMEOUT, (f"{seconds}s",)), query))[-1].rows


def may_retry(failure: BaseException, *, begun: float) -> bool:
    """Whether a transaction failed by a deadlock, a serialization failure or a stale plan, and a retry is not late.

    begun: when the first attempt did (monotonic).
    """
    state = sqlstate(failure)
    late = time.monotonic() - begun > RETRY_WITHIN_SECONDS
    if late or _connection().in_atomic_block or state not in RETRYABLE_SQLSTATES | {STALE_PLAN}:
        return False
    log.warning("transaction retried", sqlstate=state)
    return True


def context(**values: str) -> str:
    """The parameter of SET_CONTEXT, such as partner, key, staff, operator, command; no personal data of users."""
    return json.dumps(values)


def set_context(**values: str) -> None:
    """Set the context of the present transaction, without the empty values; a command and its operator stay named."""
    fetch_one(_REPLACE, (context(**{name: value for name, value in values.items() if value}),))


def act_as(**values: str) -> None:
    """Have each transaction of this thread, an open one too, begin with this context, or none; not autocommit."""
    _connection().begin_with = context(**values) if values else ""


@contextmanager
def acting(**values: str) -> Iterator[None]:
    """Have the transactions that this thread begins meanwhile name who does it: `act_as`, until the block ends."""
    wrapper = _connection()
    before = wrapper.begin_with
    act_as(**values)
    try:
        yield
    finally:
        wrapper.begin_with = before
