"""Finding users by userId, externalId, email or name, each through an index of its own.

The conditions are written as the indexes of users/models.py have them, with the parameters outside of
the indexed expressions: so that a prepared statement uses them whatever plan PostgreSQL keeps for it.
"""

import re
import uuid
from typing import Any

from django.db.models import BooleanField, Q, QuerySet
from django.db.models.expressions import RawSQL

from users.models import User

# Of each kind, so many are looked at: who finds more has to say more.
MATCH_LIMIT = 1_000

# Columns without their table: Django names it anew in each statement, and there is but one.
_WORD = re.compile(r"[^\W_]+")
_NAME_WORDS = """
    to_tsvector('simple'::regconfig,
                COALESCE(first_name, '') || ' ' || COALESCE(last_name, ''))
    @@ to_tsquery('simple'::regconfig, %s)
"""
_EMAIL = "LOWER(email)"
_EXTERNAL_ID = "external_id"
_HIGHEST, _SURROGATES = 0x10FFFF, range(0xD800, 0xE000)


def matches(term: str) -> Q:
    """The users whom a search finds: by the whole userId, or by what externalId, email or names begin with."""
    # Each bounded by itself, so that each uses its index; an OR of them would use none.
    kinds: list[QuerySet[Any]] = [
        User.objects.filter(condition).order_by().values("pk")[:MATCH_LIMIT] for condition in _conditions(term)
    ]
    return Q(pk__in=kinds[0].union(*kinds[1:], all=True) if len(kinds) > 1 else kinds[0])


def is_cut(term: str) -> bool:
    """Whether one kind alone finds more than MATCH_LIMIT."""
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
        conditions.append(_condition(_NAME_WORDS, " & ".join(map(_beginning, words))))
    return conditions


def _beginning(word: str) -> str:
    # A single letter begins too many names to be looked up as a beginning in time: it stands for itself.
    return f"{word}:*" if len(word) > 1 else word


def begins_with(column: str, prefix: str) -> Any:
    """The rows whose column begins so: a range of the pattern operators, of which LIKE is made too."""
    end = _after(prefix)
    if not end:
        return _condition(f"{column} ~>=~ %s", prefix)
    return _condition(f"{column} ~>=~ %s AND {column} ~<~ %s", prefix, end)


def _condition(statement: str, *parameters: str) -> Any:
    # The statements are this module's own; what is searched for is a parameter.
    return RawSQL(f"({statement})", parameters, output_field=BooleanField())  # noqa: S611


def _after(prefix: str) -> str:
    """The least text after all that begin so, in the order of code points; empty where there is none."""
    stem = prefix.rstrip(chr(_HIGHEST))
    if not stem:
        return ""
    following = ord(stem[-1]) + 1
    return stem[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)
