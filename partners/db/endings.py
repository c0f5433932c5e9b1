"""The register of how the rows of each table end: `ending` of a model, beside its `serving_privileges`.

The function that erases a user is made from it (users/models/retention.py), and the table in docs/security.md.
Which rows are a user's, and the order in which they go, follow from foreign keys.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django.apps import apps
from django.db import models


class Ending(NamedTuple):
    """How the rows of a table end: in one or several of these ways.

    with_user: with the user whom they are about, by foreign keys, or `where`: SQL in which `erased` is the user's row,
    `ids` the texts of the identifiers of what is erased, and `address` the user's canonical path.
    expires: when they go by themselves (partners/retention.py, the database, or Django). kept: why they stay.
    """

    with_user: bool = False
    where: str = ""
    expires: str = ""
    kept: str = ""

    @property
    def text(self) -> str:
        """For the table in docs/security.md."""
        ways = (self.with_user and "with its user", self.expires, self.kept and f"kept: {self.kept}")
        return "; ".join(way for way in ways if way)


WITH_USER = Ending(with_user=True)
_STAFF = Ending(kept="who did it stays known; no user is in it")
# Tables of Django and libraries.
LIBRARY_ENDINGS = {
    "django_migrations": Ending(kept="which migrations ran"),
    "django_admin_log": Ending(with_user=True, where="object_id = ANY(ids)", kept="nothing is written to it"),
    "django_content_type": Ending(kept="names of models"),
    "django_session": Ending(expires="with the session, 12 hours at the latest"),
    "staff_cache": Ending(expires="at each row's own time, 1 hour at the latest"),
    "auth_group": _STAFF,
    "auth_group_permissions": _STAFF,
    "auth_permission": _STAFF,
    "users_staff_groups": _STAFF,
    "users_staff_user_permissions": _STAFF,
    "mfa_authenticator": _STAFF,
    "socialaccount_socialaccount": _STAFF,
    "socialaccount_socialapp": Ending(kept="empty"),
    "socialaccount_socialtoken": Ending(kept="empty"),
    "pghistory_context": Ending(kept="empty"),
    "account_emailaddress": Ending(kept="empty"),
    "account_emailconfirmation": Ending(kept="empty"),
}


class Deletion(NamedTuple):
    """Rows of a table that go with a user. conditions: SQL, one for each statement, so that each uses one index."""

    table: str
    conditions: Sequence[str]


def ending_of(model: type[models.Model]) -> Ending | None:
    """What the register says of a model's table; None where it says nothing."""
    declared: Ending | None = getattr(model, "ending", None)
    return declared or LIBRARY_ENDINGS.get(_table(model))


def tables() -> dict[str, Ending | None]:
    """The register: how the rows of each table end, by the table's name."""
    found = {_table(model): ending_of(model) for model in _models()}
    return dict(sorted((LIBRARY_ENDINGS | found).items()))


def deletions(root: type[models.Model]) -> list[Deletion]:
    """What to delete of a user, row by row of the register, those that refer to others before them.

    root: the model of users.
    """
    of_users = [model for model in _models() if (ending := ending_of(model)) and ending.with_user]
    order = sorted(of_users, key=lambda model: (-_depth(model, of_users), _table(model)))
    return [Deletion(_table(model), list(_conditions(model, root, of_users))) for model in order]


def identifiers(root: type[models.Model]) -> Iterator[str]:
    """Queries of the identifiers by which the audit log names what is erased: those of columns of unique UUIDs."""
    of_users = [model for model in _models() if (ending := ending_of(model)) and ending.with_user]
    for model in sorted(of_users, key=_table):
        ending = ending_of(model)
        if ending is None or ending.where:
            continue
        for field in model._meta.concrete_fields:  # noqa: SLF001 - Django's public name for it
            if isinstance(field, models.UUIDField) and field.unique:
                condition = next(iter(_conditions(model, root, of_users)))
                yield f"SELECT {field.column}::text FROM {_table(model)} WHERE {condition}"


def _models() -> list[type[models.Model]]:
    found = apps.get_models(include_auto_created=True)
    return [model for model in found if model._meta.managed and not model._meta.proxy]  # noqa: SLF001


def _table(model: type[models.Model]) -> str:
    return str(model._meta.db_table)  # noqa: SLF001


def _references(model: type[models.Model], of_users: Sequence[type[models.Model]]) -> list[tuple[Any, Any]]:
    """The foreign keys of a model to what goes with users: the field, and the model that it refers to."""
    found = []
    for field in model._meta.concrete_fields:  # noqa: SLF001
        target = field.remote_field and field.remote_field.model._meta.concrete_model  # noqa: SLF001
        if target in of_users and target is not model:
            found.append((field, target))
    # The keys that each row has come first, and before them those to the user.
    return sorted(found, key=lambda one: (one[0].null, len(_references(one[1], of_users)), one[0].column))


def _depth(model: type[models.Model], of_users: Sequence[type[models.Model]]) -> int:
    """The number of references, one after the other, to a row that refers to no other."""
    return max((1 + _depth(of, of_users) for _, of in _references(model, of_users)), default=0)


def _conditions(
    model: type[models.Model], root: type[models.Model], of_users: Sequence[type[models.Model]]
) -> Iterator[str]:
    """The conditions of the rows of a user, by each of its foreign keys."""
    ending = ending_of(model)
    if model is root:
        yield "id = erased.id"
    elif ending and ending.where:
        yield ending.where
    else:
        for field, of in _references(model, of_users):
            if of is root:
                yield f"{field.column} = erased.id"
            else:
                key = field.target_field.column
                condition = next(iter(_conditions(of, root, of_users)))
                yield f"{field.column} IN (SELECT {key} FROM {_table(of)} WHERE {condition})"
