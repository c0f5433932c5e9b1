"""Moves what the demo made just now to the times of its plan.

The service's role cannot do that, whatever the program: times of a user, of a decision and of the history are the
database's own. The role that owns the schema can, with the triggers off for the one transaction (docs/decisions.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connections, transaction

from partners.db import serving_role
from partners.models import Partner

# Each table with the column that names the user, and its times.
_USER_TIMES = ("created_at", "updated_at", "status_since", "profile_changed_at", "identity_changed_at")
_TABLES: Mapping[str, tuple[str, Sequence[str]]] = {
    "users_user": ("id", _USER_TIMES),
    "users_userevent": ("pgh_obj_id", (*_USER_TIMES, "pgh_created_at")),
    "users_statuschange": ("user_id", ("since", "created_at")),
}
_RECORDED = ("transactions_conversion", "transactions_document")

# The transaction that made the n-th event of a user began at `began`, and is to have happened at `at`.
_PLAN = """
    CREATE TEMPORARY TABLE demo_plan ON COMMIT DROP AS
    SELECT user_id, event.began, plan.at
      FROM unnest(%s::uuid[], %s::int[], %s::timestamptz[]) AS plan (user_id, number, at)
      JOIN (
            SELECT pgh_obj_id AS user_id, pgh_created_at AS began,
                   row_number() OVER (PARTITION BY pgh_obj_id ORDER BY pgh_id) AS number
              FROM users_userevent
             WHERE pgh_obj_id = ANY(%s)
           ) AS event USING (user_id, number)
"""


def backdate_users(plan: Mapping[UUID, Sequence[datetime]]) -> None:
    """Moves all times of these users. plan: of each, when its creation and each later change is to have happened.

    Each of these must have been a transaction of its own.
    """
    numbered = [(user, number, at) for user, instants in plan.items() for number, at in enumerate(instants, 1)]
    with _as_owner(*_TABLES) as cursor:
        cursor.execute(_PLAN, [*(list(column) for column in zip(*numbered, strict=True)), list(plan)])
        for table, (user, columns) in _TABLES.items():
            moved = ", ".join(f"{column} = {_planned(f't.{user}', f't.{column}')}" for column in columns)
            cursor.execute(f"UPDATE {table} t SET {moved} WHERE t.{user} = ANY(%s)", [list(plan)])


def backdate_records(partner: Partner, *, since: datetime) -> None:
    """Conversions and documents that were recorded since then are to have been recorded as soon as they were made."""
    with _as_owner(*_RECORDED) as cursor:
        for table in _RECORDED:
            cursor.execute(
                f"UPDATE {table} SET recorded_at = created_at + interval '1 minute'"
                " WHERE partner_id = %s AND recorded_at >= %s",
                [partner.pk, since],
            )


def _planned(user: str, column: str) -> str:
    """The planned time of the transaction that wrote this column."""
    return (
        f"(SELECT p.at FROM demo_plan p WHERE p.user_id = {user} AND p.began <= {column} ORDER BY p.began DESC LIMIT 1)"
    )


@contextmanager
def _as_owner(*tables: str) -> Iterator[Any]:
    """A cursor of the owner in a transaction in which the triggers of these tables are off. Writers wait meanwhile."""
    with (
        transaction.atomic(using=serving_role.owner_alias()),
        connections[serving_role.owner_alias()].cursor() as cursor,
    ):
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        yield cursor
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
