"""A statement with its parameters, and its result."""

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

from psycopg.rows import RowMaker

T = TypeVar("T")


class Result(NamedTuple, Generic[T]):
    """The result of a statement. rows_affected: changed or returned. status: the command tag, if there are no rows."""

    rows_affected: int
    rows: list[T]
    status: bytes | None


class Query(NamedTuple, Generic[T]):
    """A statement, prepared once per connection, and its parameters.

    statement: with `%s` for each parameter, typed by its context or a cast. row: makes an object of each row.
    """

    statement: str
    parameters: Sequence[object]
    row: RowMaker[T] = cast("RowMaker[Any]", tuple)
