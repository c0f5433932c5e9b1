"""Moves the demo's rows to their planned times.

Times of users, decisions and history are the database's own. Only the owner's role can change them, with the triggers
off for one transaction (docs/decisions.md).
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
# The transaction that wrote the n-th event of a user began at `began`, and moves to `at`.
_CREATE_PLAN = """
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
# The planned time of the transaction that wrote a column.
_MOVE = """
    {column} = (SELECT at FROM demo_plan p
                 WHERE p.user_id = t.{user} AND p.began <= t.{column} ORDER BY p.began DESC LIMIT 1)
"""


def backdate_users(plan: Mapping[UUID, Sequence[datetime]]) -> None:
    """Move all times of these users. plan: the times of each user's events, which were a transaction each."""
    numbered = [(user, number, at) for user, times in plan.items() for number, at in enumerate(times, 1)]
    with _as_owner(*_TABLES) as cursor:
        cursor.execute(_CREATE_PLAN, [*(list(column) for column in zip(*numbered, strict=True)), list(plan)])
        for table, (user, columns) in _TABLES.items():
            moves = ", ".join(_MOVE.format(column=column, user=user) for column in columns)
            cursor.execute(f"UPDATE {table} t SET {moves} WHERE t.{user} = ANY(%s)", [list(plan)])


def backdate_records(partner: Partner, *, since: datetime) -> None:
    """Make conversions and documents recorded since then seem recorded a minute after they were made."""
    tables = "transactions_conversion", "transactions_document"
    with _as_owner(*tables) as cursor:
        for table in tables:
            cursor.execute(
                f"UPDATE {table} SET recorded_at = created_at + interval '1 minute'"
                " WHERE partner_id = %s AND recorded_at >= %s",
                [partner.pk, since],
            )


@contextmanager
def _as_owner(*tables: str) -> Iterator[Any]:
    """A cursor of the owner in a transaction in which the triggers of these tables are off; other writers wait."""
    alias = serving_role.owner_alias()
    with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        yield cursor
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
