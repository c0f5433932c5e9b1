"""Whose records are due for erasure, and erasing them.

The database holds the rules (users/models/erasures.py).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, IntegrityError, transaction

from core.database import errors, history_context, statements
from core.database.base import SET_CONTEXT
from core.database.query import Query
from users.models.erasure_proposals import IN_FORCE
from users.models.erasures import due_at
from users.models.holds import IS_HELD
from users.models.statuses import ENDED_STATUSES

LOCK_SECONDS = 3

# The index `user_retention` serves it. Calendar years differ by a day at most from those that are counted back.
_DUE = f"""
    SELECT partner.slug, u.external_id, u.id, clock.due_at, {IS_HELD.format(user="u")} AS held, EXISTS (
           SELECT FROM users_proposederasure row JOIN users_erasureproposal p ON p.id = row.proposal_id
            WHERE row.user_id = u.id AND {IN_FORCE.format(proposal="p")}) AS in_erasure
      FROM users_user u
      JOIN partners_partner partner ON partner.id = u.partner_id
     CROSS JOIN LATERAL (SELECT {due_at("u", "%s")} AS due_at) AS clock
     WHERE NOT u.is_sandbox AND u.status IN ({", ".join(f"'{status.value}'" for status in ENDED_STATUSES)})
           AND u.status_since <= now() + (%s + 1) * interval '24 hours' - make_interval(years => %s::integer)
           AND clock.due_at <= now() + %s * interval '24 hours'
           AND (%s::text IS NULL OR partner.slug = %s::text)
"""
_IN_ORDER = f"{_DUE} ORDER BY clock.due_at, u.id"
_COUNT = f"SELECT count(*) FROM ({_DUE} LIMIT %s) AS due"
_FIRST_DUE = f"""
    WITH due AS ({_DUE})
    SELECT *, count(*) OVER (), count(*) FILTER (WHERE due_at <= now()) OVER (),
           count(*) FILTER (WHERE due_at <= now() AND held) OVER (),
           count(*) FILTER (WHERE due_at <= now() AND NOT held AND NOT in_erasure) OVER ()
      FROM due ORDER BY due_at, id LIMIT %s
"""
_CONTEXT = f"SELECT {SET_CONTEXT}, set_config('lock_timeout', '{LOCK_SECONDS}s', true)"
_ERASE = "INSERT INTO users_erasure (user_id, years) VALUES (%s, %s)"
# Of each user of an erasure that is approved, and may be carried out.
_APPROVED = f"""
    SELECT u.id, {IS_HELD.format(user="u")}, coalesce({due_at("u", "%s")} <= now(), false)
      FROM users_proposederasure row
      JOIN users_erasureproposal p ON p.id = row.proposal_id
      JOIN users_user u ON u.id = row.user_id
     WHERE p.state = 'approved' AND {IN_FORCE.format(proposal="p")}
     ORDER BY p.ended_at, row.id
"""


class DueUser(NamedTuple):
    """A user whose records are, or will be, due for erasure.

    held: whether a hold keeps them. in_erasure: whether an erasure that is open or approved names the user.
    """

    partner: str
    external_id: str
    user_id: UUID
    due_at: datetime
    held: bool
    in_erasure: bool


class ApprovedUser(NamedTuple):
    """A user of an approved erasure. held: whether a hold keeps the records. is_due: whether they are still due."""

    user_id: UUID
    held: bool
    is_due: bool


class DueUsers(NamedTuple):
    """Some of the users who are due, or will be. total: the number of all of them.

    due, held, free: the numbers of those who are due now, of the held among them, and of those that can be proposed.
    """

    users: Sequence[DueUser]
    total: int
    due: int
    held: int
    free: int


def due_users(*, within_days: int = 0, partner: str | None = None, using: str = DEFAULT_DB_ALIAS) -> Sequence[DueUser]:
    """The users whose records are due now, or will be within so many days, oldest first.

    partner: a slug, for its users alone.
    """
    return statements.fetch(Query(_IN_ORDER, _values(within_days, partner), DueUser._make), using)


def first_due_users(count: int, *, within_days: int) -> DueUsers:
    """The first of due_users, and how many there are in all."""
    rows = statements.fetch_all(_FIRST_DUE, (*_values(within_days), count))
    counts = rows[0][-4:] if rows else (0, 0, 0, 0)
    return DueUsers([DueUser._make(row[:-4]) for row in rows], *counts)


def count_due(limit: int) -> int:
    """How many users are due now, held or not, counted up to a limit."""
    [[count]] = statements.fetch_all(_COUNT, (*_values(0), limit))
    return int(count)


def of_approved_erasures(*, using: str = DEFAULT_DB_ALIAS) -> Sequence[ApprovedUser]:
    """The users of erasures that are approved and may be carried out, longest first."""
    return statements.fetch(Query(_APPROVED, (settings.RETENTION_YEARS,), ApprovedUser._make), using)


def _values(within_days: int, partner: str | None = None) -> tuple[Any, ...]:
    years = settings.RETENTION_YEARS
    return years, within_days, years, within_days, partner, partner


def erase(user_id: UUID, *, context: Mapping[str, str], using: str) -> bool:
    """Erase a user with all that is about it, in one transaction; False where the database refused it.

    It does where the records are not due any more or held, where no approved erasure names the user, and where others
    keep the user locked.

    context: who does it (core/database/history_context.py). using: the alias of the owner's connection.
    """
    try:
        with transaction.atomic(using=using):
            statements.fetch(Query(_CONTEXT, (history_context.context(**context),)), using)
            statements.fetch(Query(_ERASE, (user_id, settings.RETENTION_YEARS)), using)
    except IntegrityError:
        return False
    except DatabaseError as error:
        if errors.sqlstate(error) not in {errors.LOCK_NOT_AVAILABLE, *errors.RETRYABLE_SQLSTATES}:
            raise
        return False
    return True
