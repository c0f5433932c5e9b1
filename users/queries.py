"""The prepared statements on users of requests under /v1, each by partner: another partner's user is not reached."""

import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from core.database import statements
from core.database.pipeline import Query
from core.database.schema import wire_time
from core.database.statements import Row
from partners.api import idempotency
from users.models import FileEntry
from users.models.columns import FOLDED_COLUMNS, PROFILE_COLUMNS, Profile
from users.profile.names import fold_name


class UserSummary(NamedTuple):
    """A user in responses; times as on the wire. verification: JSON. requirements: not closed, once they are read."""

    id: str
    external_id: str
    status: str
    updated_at: str
    status_since: str
    status_reason_code: str
    open_requirements: int
    answered_requirements: int
    verification: str | None
    requirements: Sequence[Any] = ()

    @property
    def has_requirements(self) -> bool:
        """Whether there are requirements that are not closed."""
        return self.open_requirements + self.answered_requirements > 0


class StoredUser(NamedTuple):
    """A user's row."""

    summary: UserSummary
    profile: Profile

    @classmethod
    def of(cls, row: Row) -> "StoredUser":
        """The user of a row of `lock`."""
        columns = len(UserSummary._fields) - 1
        return cls(UserSummary(*row[:columns]), Profile._make(row[columns:]))


# By the index file_entry_of_user.
_VERIFICATIONS = """
      FROM users_fileentry entry
     WHERE entry.user_id = users_user.id AND entry.kind = 'identityVerification' AND entry.topic = ''
"""
_SUMMARY = f"""
    id::text, external_id, status, {wire_time("updated_at")}, {wire_time("status_since")}, status_reason_code,
    open_requirements, answered_requirements,
    (SELECT {FileEntry.wire} {_VERIFICATIONS} ORDER BY entry.created_at DESC LIMIT 1)
"""
_PROFILE = ", ".join(PROFILE_COLUMNS)

# to_tsvector is not used: its words and letter case depend on the database's locale.
_FOLDED = dict(zip(FOLDED_COLUMNS, ("%s", "array_to_tsvector(string_to_array(%s, ' '))"), strict=True))
_INSERT = f"""
    INSERT INTO users_user (id, partner_id, external_id, {_PROFILE}, {", ".join(_FOLDED)})
    VALUES (%s, %s, %s{", %s" * len(PROFILE_COLUMNS)}, {", ".join(_FOLDED.values())})
        ON CONFLICT (partner_id, external_id) DO NOTHING
 RETURNING id::text, external_id, status
"""
_FIND = f"SELECT {_SUMMARY} FROM users_user WHERE partner_id = %s AND external_id = %s"
_REREAD = f"SELECT {_SUMMARY} FROM users_user WHERE id = %s"
_FIND_VERIFICATIONS = f"""
    SELECT (SELECT '[' || coalesce(string_agg({FileEntry.wire}, ',' ORDER BY entry.created_at DESC), '') || ']'
            {_VERIFICATIONS})
      FROM users_user WHERE partner_id = %s AND external_id = %s
"""
# NO KEY: an import that refers to the user need not wait.
_LOCK = f"""
    SELECT {_SUMMARY}, {_PROFILE} FROM users_user
     WHERE partner_id = %s AND external_id = %s AND NOT EXISTS (SELECT {idempotency.DONE})
       FOR NO KEY UPDATE
"""
_UPDATE = f"""
    UPDATE users_user SET {", ".join(f"{column} = %s" for column in PROFILE_COLUMNS)},
           {", ".join(f"{column} = coalesce({value}, {column})" for column, value in _FOLDED.items())}
     WHERE id = %s
 RETURNING {_SUMMARY}
"""


def insert(partner_id: int, external_id: str, profile: Profile) -> Query[tuple[str, str, str]]:
    """Store a new user: userId, externalId and status; no row where the partner has one with this externalId."""
    name = fold_name(profile.first_name, profile.last_name)
    return Query(_INSERT, (uuid.uuid4(), partner_id, external_id, *profile, *name))


def find(partner_id: int, external_id: str) -> Query[Row]:
    """The row of a UserSummary: the partner's user of this externalId."""
    return Query(_FIND, (partner_id, external_id))


def find_verifications(partner_id: int, external_id: str) -> Query[Row]:
    """The records of how the identity of the partner's user was verified, newest first, as a JSON array."""
    return Query(_FIND_VERIFICATIONS, (partner_id, external_id))


def lock(partner_id: int, external_id: str, *, key: str | None = None) -> Query[Row]:
    """The row of a StoredUser: the same user, locked against other writers until the transaction ends.

    No row, and no wait for others, where a write under this Idempotency-Key has taken effect: its response is stored.
    """
    return Query(_LOCK, (partner_id, external_id, partner_id, key, idempotency.WINDOW))


def update(user: StoredUser, profile: Profile) -> UserSummary:
    """Store the profile of a locked user; the database sets updated_at."""
    is_renamed = (profile.first_name, profile.last_name) != (user.profile.first_name, user.profile.last_name)
    name = fold_name(profile.first_name, profile.last_name) if is_renamed else (None, None)
    return _one(Query(_UPDATE, (*profile, *name, user.summary.id)))


def reread(user_id: UUID | str) -> UserSummary:
    """The user after something about it changed in this transaction."""
    return _one(Query(_REREAD, (user_id,)))


def _one(query: Query[Row]) -> UserSummary:
    [row] = statements.fetch(query)
    return UserSummary(*row)
