"""Whose records are due for erasure, and erasing them.

The database holds the rules (users/models/retention_triggers.py).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, IntegrityError, transaction

from partners.db import history_context, statements
from partners.db.statements import Query
from users.models import Staff
from users.models.retention_triggers import IS_HELD, due_at
from users.models.statuses import ENDED_STATUSES

LOCK_SECONDS = 3

# Whose status says that the records may be due, the longest first, by the index `user_retention`. Calendar years differ
# by a day at most from those that are counted back.
_CANDIDATES = f"""
    SELECT * FROM users_user
     WHERE NOT is_sandbox AND status IN ({", ".join(f"'{status.value}'" for status in ENDED_STATUSES)})
           AND status_since <= now() + (%s + 1) * interval '24 hours' - make_interval(years => %s::integer)
     ORDER BY status_since, id
"""
_ARE_BEYOND = f"SELECT EXISTS ({_CANDIDATES} OFFSET %s)"
_DUE = f"""
    SELECT partner.slug, u.external_id, u.id, clock.due_at, {IS_HELD.format(user="u")}
      FROM ({_CANDIDATES} LIMIT %s) u
      JOIN partners_partner partner ON partner.id = u.partner_id
     CROSS JOIN LATERAL (SELECT {due_at("u", "%s")} AS due_at) AS clock
     WHERE clock.due_at <= now() + %s * interval '24 hours'
           AND (%s::text IS NULL OR partner.slug = %s::text)
     ORDER BY clock.due_at, u.id
"""
_CONTEXT = f"SELECT {history_context.SET_CONTEXT}, set_config('lock_timeout', '{LOCK_SECONDS}s', true)"
_ERASE = "INSERT INTO users_erasure (user_id, by_id, years) VALUES (%s, %s, %s)"


class DueUser(NamedTuple):
    """A user whose records are, or will be, due for erasure. held: whether a hold keeps them."""

    partner: str
    external_id: str
    user_id: UUID
    due_at: datetime
    held: bool


def due_users(
    *, within_days: int = 0, partner: str | None = None, most: int | None = None, using: str = DEFAULT_DB_ALIAS
) -> Sequence[DueUser]:
    """The users whose records are due now, or will be within so many days, oldest first.

    partner: a slug, for its users alone. most: how many users are looked at, those first whose status ended them first.
    """
    years = settings.RETENTION_YEARS
    values = (within_days, years, most, years, within_days, partner, partner)
    return statements.fetch(Query(_DUE, values, DueUser._make), using)


def are_beyond(most: int, *, within_days: int) -> bool:
    """Whether there are users at whom due_users does not look with this `most`."""
    (found,) = statements.fetch_one(_ARE_BEYOND, (within_days, settings.RETENTION_YEARS, most)) or (False,)
    return bool(found)


def erase(user_id: UUID, *, by: Staff, context: Mapping[str, str], using: str) -> bool:
    """Erase a user with all that is about it, in one transaction; False where the database refused it.

    It does where the records are not due any more, or held, and where others keep the user locked.

    context: who does it (partners/db/history_context.py). using: the alias of the owner's connection.
    """
    try:
        with transaction.atomic(using=using):
            statements.fetch(Query(_CONTEXT, (history_context.context(**context),)), using)
            statements.fetch(Query(_ERASE, (user_id, by.pk, settings.RETENTION_YEARS)), using)
    except IntegrityError:
        return False
    except DatabaseError as error:
        if statements.sqlstate(error) not in {statements.LOCK_NOT_AVAILABLE, *statements.RETRYABLE_SQLSTATES}:
            raise
        return False
    return True
