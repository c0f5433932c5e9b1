"""The shape of JSON that the serving role writes for good, checked by the database: no row breaks a page that shows it.

What a shape allows and a reader does not know, the reader shows as it is.
"""

from django.db.models import BooleanField, CheckConstraint, Func, Q

# Python reads no number of more than 4,300 digits, and no brackets nested a thousand times.
_READABLE = """
    && !exists($.**{8 to last}) && !exists($.** ? (@.type() == "number" && (@ > 1e12 || @ < -1e12)))
"""
# Who acted (core/database/history_context.py): texts by name.
_CONTEXT = '$.type() == "object" && !exists($.keyvalue() ? (@.value.type() != "string"))'


def shape(column: str, path: str, *, name: str) -> CheckConstraint:
    """The constraint that a JSON column is NULL or meets the predicate `path`, of SQL/JSON in its lax mode.

    That mode looks into an array where an object is expected: a path says by `[*].type()` that there is none.
    """
    return _constraint(column, path + _READABLE, name)


def context_shape(column: str, *, name: str) -> CheckConstraint:
    """The shape of the context that a trigger keeps: a session may set it to anything."""
    return _constraint(column, _CONTEXT, name)


def _constraint(column: str, path: str, name: str) -> CheckConstraint:
    template = f"coalesce(jsonb_path_match(%(expressions)s, '{' '.join(path.split())}', silent => true), false)"
    has_shape = Func(column, template=template, output_field=BooleanField())
    return CheckConstraint(condition=Q(**{f"{column}__isnull": True}) | Q(has_shape), name=name)
