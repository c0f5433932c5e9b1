"""Dates users of the demo back, so that their records are due for erasure; a hold keeps those of one."""

from datetime import UTC, datetime

from django.db import connections, transaction

from partners.db import serving_role
from users.models import Staff, User
from users.records.holds import is_held, place_hold

ENDED_AT = datetime(2019, 3, 4, 15, 30, tzinfo=UTC)


def make_due(user: User) -> None:
    """Have a user without conversions and documents been in its status for years.

    No role may do this, as the time is the database's: so the owner, for this one user, without its triggers. It waits
    for transactions that use the table.
    """
    owner = connections[serving_role.OWNER]
    with transaction.atomic(using=serving_role.OWNER), owner.cursor() as cursor:
        cursor.execute("ALTER TABLE users_user DISABLE TRIGGER USER")
        cursor.execute("UPDATE users_user SET status_since = %s WHERE id = %s", [ENDED_AT, user.pk])
        cursor.execute("ALTER TABLE users_user ENABLE TRIGGER USER")
    owner.close()


def make_held(user: User, by: Staff) -> None:
    """Have a user be due, and held by this person unless it is held already."""
    make_due(user)
    if not is_held(user):
        place_hold(user_id=user.pk, by=by, reason="A complaint of the user is open.")
