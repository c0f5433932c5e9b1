"""Search for users by userId, or by the start of externalId, email or names, each through its index.

The conditions repeat the expressions of the indexes in users/models/user.py, with the parameters outside: a generic
plan of a prepared statement uses the index too, which it does not for LIKE.
"""

import re
import uuid
from typing import Any

from django.db.models import BooleanField, Q, QuerySet
from django.db.models.expressions import RawSQL

from users.models import User

# For each of externalId, email and names.
MATCH_LIMIT = 1_000

# Without the table's name: Django may give it an alias.
_WORD = re.compile(r"[^\W_]+")
_NAME_WORDS = """
    to_tsvector('simple'::regconfig,
                COALESCE(first_name, '') || ' ' || COALESCE(last_name, ''))
    @@ to_tsquery('simple'::regconfig, %s)
"""
_EMAIL = "LOWER(email)"
_EXTERNAL_ID = "external_id"
_LAST_CHARACTER = chr(0x10FFFF)


def matches(term: str) -> Q:
    """The users that match."""
    # A bounded query each, since an OR would use no index.
    queries: list[QuerySet[Any]] = [
        User.objects.filter(condition).order_by().values("pk")[:MATCH_LIMIT] for condition in _conditions(term)
    ]
    return Q(pk__in=queries[0].union(*queries[1:], all=True) if len(queries) > 1 else queries[0])


def is_cut(term: str) -> bool:
    """Whether one of the queries has more than MATCH_LIMIT matches."""
    return any(
        len(User.objects.filter(condition).order_by().values_list("pk")[MATCH_LIMIT : MATCH_LIMIT + 1])
        for condition in _conditions(term)
    )


def _conditions(term: str) -> list[Any]:
    try:
        return [Q(pk=uuid.UUID(term))]
    except ValueError:
        pass
    conditions = [begins_with(_EXTERNAL_ID, term), begins_with(_EMAIL, term.lower())]
    if "@" not in term and (words := _WORD.findall(term)):
        conditions.append(_condition(_NAME_WORDS, " & ".join(map(_lexeme, words))))
    return conditions


def _lexeme(word: str) -> str:
    # Too many names start with one letter: it is taken as a whole word.
    return f"{word}:*" if len(word) > 1 else word


def begins_with(column: str, prefix: str) -> Any:
    """The rows whose column has this prefix, as a range of the pattern operators."""
    return _condition(f"{column} ~>=~ %s AND {column} ~<~ %s", prefix, prefix + _LAST_CHARACTER)


def _condition(statement: str, *parameters: str) -> Any:
    # The statements are constants of this module; the term is a parameter.
    return RawSQL(f"({statement})", parameters, output_field=BooleanField())  # noqa: S611
