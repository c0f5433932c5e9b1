"""A statement with its parameters, its result, and SQL by which PostgreSQL writes the wire (contract, section 6)."""

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


def wire_time(expression: str) -> str:
    """The SQL of a timestamp: RFC 3339, UTC, six fraction digits."""
    return f"""to_char({expression} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""


def json_text(template: str, *values: str) -> str:
    """The SQL of a JSON text, byte for byte as orjson writes it.

    template: the JSON without white space, and `%s` for each value. values: SQL, none of it null. `to_json(…)` puts a
    text in quotes and escapes it; one whose characters a constraint limits needs only the quotes.
    """
    first, *pieces = template.split("%s")
    following = "".join(f" || {value}::text || '{piece}'" for value, piece in zip(values, pieces, strict=True))
    return f"('{first}'{following})"
