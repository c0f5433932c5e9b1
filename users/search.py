"""Search for users: by the beginnings of names, e-mail address, its domain, externalId or userId, and by birth date.

Each kind is a bounded statement with an index of its own (users/models/user.py), whose expressions the conditions
repeat with the parameters outside: a generic plan of a prepared statement uses it too.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, Q, QuerySet
from django.db.models.expressions import RawSQL

from partners.models import Mode, Partner
from users.models import Erasure, User
from users.models.case import in_mode
from users.profile.names import name_query

# Limits on the matches of each kind: of those whose records are listed, and of those listed themselves.
MAX_USERS_OF_RECORDS = 100
MAX_PREFIX_MATCHES = 1_000
MAX_ERASED = 5

# The columns lack the table's name: Django may give it an alias.
_EXTERNAL_ID, _LOWER_ID = 'LOWER(external_id COLLATE "C")', 'LOWER(%s COLLATE "C")'
_EMAIL, _LOWER = "LOWER(email)", "LOWER(%s)"
_DOMAIN = "SPLIT_PART(LOWER(email), '@', 2)"
_LAST_CHARACTER = chr(0x10FFFF)
# The first eight digits, which a case is named by, or more.
_USER_ID = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{0,4}){0,3}(?:-?[0-9a-f]{0,12})?")
_DOMAIN_NAME = re.compile(r"@?[^\s@]+\.[^\s@]+|@[^\s@]+")


def find_user_ids(term: str, mode: Mode, *, sees_identity: bool) -> tuple[list[UUID], bool]:
    """The ids of users whose userId, externalId or e-mail address is `term`, or else of all `matches`.

    And whether there are more than MAX_USERS_OF_RECORDS of a kind.
    """
    return _ids(_exact(term), mode) or _ids(_conditions(term, sees_identity=sees_identity), mode) or ([], False)


def find_exactly(term: str, mode: Mode) -> list[UUID]:
    """The ids of a mode's users whose userId, externalId or e-mail address is `term`, in any letter case."""
    found = _ids(_exact(term), mode)
    return found[0] if found else []


def find_identified(identifiers: Sequence[str], mode: Mode, limit: int) -> tuple[list[User], dict[str, Erasure | None]]:
    """The users with exactly these externalIds or userIds, and the identifiers of nobody, with what is left of one.

    limit: of each kind, which has one more where there are more.
    """
    user_ids = dict[str, UUID]()
    for identifier in identifiers:
        with suppress(ValueError):
            user_ids[identifier] = UUID(identifier)
    users = in_mode(User.objects.select_related("partner").order_by("partner_id", "external_id"), mode)
    # With them the unique index of externalIds serves.
    partners = [*in_mode(Partner.objects.all(), mode).values_list("pk", flat=True)]
    kinds = ({"partner__in": partners, "external_id__in": identifiers}, {"pk__in": user_ids.values()})
    found = dict.fromkeys(user for kind in kinds for user in users.filter(**kind)[: limit + 1])
    known = {name for user in found for name in (user.external_id, user.pk)}
    missing = {one: user_ids.get(one) for one in identifiers if known.isdisjoint((one, user_ids.get(one)))}
    erased = Erasure.objects.in_bulk([pk for pk in missing.values() if pk])
    return [*found], {one: erased.get(pk) if pk else None for one, pk in missing.items()}


def matches(term: str, mode: Mode, *, sees_identity: bool) -> Q:
    """The users of a mode whom `term` finds. sees_identity: whether the reader may see, and search by, birth dates."""
    users = in_mode(User.objects.order_by(), mode)
    queries: list[QuerySet[Any]] = [
        users.filter(condition).values("pk")[:MAX_PREFIX_MATCHES]
        for condition in _conditions(term, sees_identity=sees_identity)
    ]
    return Q(pk__in=queries[0].union(*queries[1:], all=True) if len(queries) > 1 else queries[0])


def find_erased(term: str) -> list[Erasure]:
    """What is left of the erased users whose userId begins so, by eight characters or more; at most a few."""
    return list(Erasure.objects.filter(of_id).order_by("pk")[:MAX_ERASED]) if (of_id := _of_user_id(term)) else []


def is_cut(term: str, mode: Mode, *, sees_identity: bool) -> bool:
    """Whether one of the queries has more than MAX_PREFIX_MATCHES matches."""
    users = in_mode(User.objects.order_by(), mode)
    return any(
        len(users.filter(condition).values_list("pk")[MAX_PREFIX_MATCHES : MAX_PREFIX_MATCHES + 1])
        for condition in _conditions(term, sees_identity=sees_identity)
    )


def _ids(conditions: list[Any], mode: Mode) -> tuple[list[UUID], bool] | None:
    users = in_mode(User.objects.order_by(), mode)
    kinds = [list(users.filter(one).values_list("pk", flat=True)[: MAX_USERS_OF_RECORDS + 1]) for one in conditions]
    found = [pk for kind in kinds for pk in kind[:MAX_USERS_OF_RECORDS]]
    return (found, any(len(kind) > MAX_USERS_OF_RECORDS for kind in kinds)) if found else None


def _exact(term: str) -> list[Any]:
    with suppress(ValueError):
        return [Q(pk=UUID(term))]
    conditions = [_condition(f"{_EXTERNAL_ID} = {_LOWER_ID}", term)]
    if "@" in term:
        conditions.append(_condition(f"{_EMAIL} = {_LOWER}", term))
    return conditions


def _conditions(term: str, *, sees_identity: bool) -> list[Any]:
    """A condition for each kind of search that the term may be."""
    with suppress(ValueError):
        return [Q(pk=UUID(term))]
    found = [begins_with(_EXTERNAL_ID, term, value=_LOWER_ID), begins_with(_EMAIL, term, value=_LOWER)]
    if _DOMAIN_NAME.fullmatch(term):
        found.append(begins_with(_DOMAIN, term.removeprefix("@"), value=_LOWER))
    if of_id := _of_user_id(term):
        found.append(of_id)
    if sees_identity:
        with suppress(ValueError):
            found.append(Q(date_of_birth=date.fromisoformat(term)))
    # An e-mail address is one word.
    if ("@" not in term or re.search(r"\s", term)) and (query := name_query(term)):
        found.append(_condition("name_words @@ %s::tsquery", query))
    return found


def _of_user_id(term: str) -> Q | None:
    """The rows whose userId begins with the term; None where it is no beginning of one."""
    # What the pages show of a userId may end with an ellipsis.
    digits = term.strip().lower().rstrip("….")
    if not _USER_ID.fullmatch(digits):
        return None
    known = digits.replace("-", "")
    return Q(pk__range=(UUID(known.ljust(32, "0")), UUID(known.ljust(32, "f"))))


def begins_with(column: str, prefix: str, *, value: str = "%s") -> Any:
    """The rows whose column has this prefix, as a range of the pattern operators. value: changes it as the column."""
    return _condition(f"{column} ~>=~ {value} AND {column} ~<~ {value}", prefix, prefix + _LAST_CHARACTER)


def _condition(statement: str, *parameters: str) -> Any:
    return RawSQL(f"({statement})", parameters, output_field=BooleanField())  # noqa: S611
