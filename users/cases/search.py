"""Search for users: by an exact value, or by userId and the start of externalId, email or names.

Each statement uses an index. The conditions on prefixes repeat the expressions of the indexes in users/models/user.py,
with the parameters outside: a generic plan of a prepared statement uses the index too, which it does not for LIKE.
"""

import re
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, Q, QuerySet, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Lower

from partners.models import Mode, Partner
from users.cases.modes import in_mode
from users.models import User

# Limits on the matches in each of the columns searched.
MAX_EXACT_MATCHES = 100
MAX_PREFIX_MATCHES = 1_000

# Without the table's name: Django may give it an alias.
_WORD = re.compile(r"[^\W_]+")
_NAME_WORDS = """
    to_tsvector('simple'::regconfig, COALESCE(first_name, '') || ' ' || COALESCE(last_name, ''))
    @@ to_tsquery('simple'::regconfig, %s)
"""
_LAST_CHARACTER = chr(0x10FFFF)


def find_user_ids(term: str, mode: Mode) -> list[UUID]:
    """The ids of a mode's users whose userId, externalId or email is `term`.

    One statement for each of the three, with at most MAX_EXACT_MATCHES rows: an OR of them would use no index.
    """
    # The index on externalId begins with the partner.
    partners = in_mode(Partner.objects.order_by(), mode)
    conditions = [Q(partner__in=partners.values("pk"), external_id=term)]
    with suppress(ValueError):
        conditions.append(Q(pk=UUID(term)))
    if "@" in term:
        # The index has addresses in lower case.
        conditions.append(Q(email=term, low=Lower(Value(term))))
    users = in_mode(User.objects.alias(low=Lower("email")), mode).order_by()
    return [
        pk
        for condition in conditions
        for pk in users.filter(condition).values_list("pk", flat=True)[:MAX_EXACT_MATCHES]
    ]


def matches(term: str, mode: Mode) -> Q:
    """The users of a mode whose userId is `term`, or whose externalId, email or names begin with it."""
    # A bounded query each, since an OR would use no index.
    users = in_mode(User.objects.order_by(), mode)
    queries: list[QuerySet[Any]] = [
        users.filter(condition).values("pk")[:MAX_PREFIX_MATCHES] for condition in _conditions(term)
    ]
    return Q(pk__in=queries[0].union(*queries[1:], all=True) if len(queries) > 1 else queries[0])


def is_cut(term: str, mode: Mode) -> bool:
    """Whether one of the queries has more than MAX_PREFIX_MATCHES matches."""
    users = in_mode(User.objects.order_by(), mode)
    return any(
        len(users.filter(condition).values_list("pk")[MAX_PREFIX_MATCHES : MAX_PREFIX_MATCHES + 1])
        for condition in _conditions(term)
    )


def _conditions(term: str) -> list[Any]:
    try:
        return [Q(pk=UUID(term))]
    except ValueError:
        pass
    conditions = [begins_with("external_id", term), begins_with("LOWER(email)", term.lower())]
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
    return RawSQL(f"({statement})", parameters, output_field=BooleanField())  # noqa: S611
