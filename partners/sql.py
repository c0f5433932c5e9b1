"""Prepared statements for the few queries that every request makes.

They go to psycopg's own cursor, past Django's wrappers, which cost three times the statement.
Each statement stands in one named function beside its model; everything else is the ORM.
"""

from collections.abc import Sequence
from typing import Any

from django.db import InterfaceError, OperationalError, connection

Row = tuple[Any, ...]


def fetch_all(statement: str, parameters: Sequence[object]) -> list[Row]:
    """The rows that a statement returns; raises Django's database errors."""
    rows: list[Row] = _execute(statement, parameters).fetchall()
    return rows


def fetch_one(statement: str, parameters: Sequence[object]) -> Row | None:
    """The first row that a statement returns, or None; raises Django's database errors."""
    row: Row | None = _execute(statement, parameters).fetchone()
    return row


def run(statement: str, parameters: Sequence[object]) -> int:
    """How many rows a statement changed; raises Django's database errors."""
    count: int = _execute(statement, parameters).rowcount
    return count


def fetch_one_afresh(statement: str, parameters: Sequence[object]) -> Row | None:
    """As `fetch_one`, for a request's first, reading statement: a connection that broke while idle is replaced."""
    try:
        return fetch_one(statement, parameters)
    except (OperationalError, InterfaceError):
        if connection.in_atomic_block or connection.is_usable():
            raise
        connection.close()
        return fetch_one(statement, parameters)


def _execute(statement: str, parameters: Sequence[object]) -> Any:
    connection.ensure_connection()
    with connection.wrap_database_errors:
        return connection.connection.execute(statement, parameters, prepare=True)
