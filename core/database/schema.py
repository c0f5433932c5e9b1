"""What several models have: constraints, indexes, how a row is named, and SQL by which PostgreSQL writes the wire."""

from django.db import models
from django.db.models import BooleanField, CheckConstraint, Func, Index, Q

# Python reads no number of more than 4,300 digits, and no brackets nested a thousand times.
_READABLE = """
    && !exists($.**{8 to last}) && !exists($.** ? (@.type() == "number" && (@ > 1e12 || @ < -1e12)))
"""
# Who acted (core/database/statements.py): texts by name.
_CONTEXT = '$.type() == "object" && !exists($.keyvalue() ? (@.value.type() != "string"))'


class Record(models.Model):
    """A row that pages and logs name by its key: nothing personal."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return str(self.pk)


def shape(column: str, path: str, *, name: str) -> CheckConstraint:
    """The constraint that a JSON column is NULL or meets the predicate `path`, of SQL/JSON in its lax mode.

    The serving role writes such JSON for good: no row may break a page that shows it. The lax mode looks into an array
    where an object is expected: a path says by `[*].type()` that there is none.
    """
    return _constraint(column, path + _READABLE, name)


def context_shape(column: str, *, name: str) -> CheckConstraint:
    """The shape of the context that a trigger keeps: a session may set it to anything."""
    return _constraint(column, _CONTEXT, name)


def _constraint(column: str, path: str, name: str) -> CheckConstraint:
    template = f"coalesce(jsonb_path_match(%(expressions)s, '{' '.join(path.split())}', silent => true), false)"
    has_shape = Func(column, template=template, output_field=BooleanField())
    return CheckConstraint(condition=Q(**{f"{column}__isnull": True}) | Q(has_shape), name=name)


def newest_of_each_mode(name: str, *columns: str) -> list[Index]:
    """The order of a list of staff, these columns, by an index of the rows of real users and one of sandbox users.

    Instead of one that begins with is_sandbox, PostgreSQL would choose the primary key's, and read past the other mode.
    """
    return [
        Index(fields=columns, condition=Q(is_sandbox=is_sandbox), name=f"{name}_{mode}")
        for mode, is_sandbox in (("live", False), ("sandbox", True))
    ]


def wire_time(expression: str) -> str:
    """The SQL of a timestamp: RFC 3339, UTC, six fraction digits."""
    return f"""to_char({expression} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""


def json_text(template: str, *values: str) -> str:
    """The SQL of a JSON text, byte for byte as orjson writes it. values: SQL, none of it null, a text by `to_json(…)`.

    template: the JSON without white space, with `%s` for each value.
    """
    first, *pieces = template.split("%s")
    following = "".join(f" || {value}::text || '{piece}'" for value, piece in zip(values, pieces, strict=True))
    return f"('{first}'{following})"
