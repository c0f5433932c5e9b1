"""SQL of values and rows on the wire, so that PostgreSQL writes the items of lists (contract, section 6)."""


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
