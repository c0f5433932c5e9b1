"""The prepared statements on users: what a request under /v1 cannot do without.

Each takes the partner: another partner's user cannot be reached, so it need not be refused.
"""

import uuid
from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

from partners.db import statements
from partners.db.statements import Query
from users.models.columns import PROFILE_COLUMNS


class UserSummary(NamedTuple):
    """What answers say of a user. updated_at: as PostgreSQL writes it (statements.rfc_3339_from_text)."""

    id: str
    external_id: str
    status: str
    updated_at: str


class StoredUser(NamedTuple):
    """A user's row. updated_at: as PostgreSQL writes it (statements.rfc_3339_from_text)."""

    id: str
    external_id: str
    status: str
    updated_at: str
    email: str
    first_name: str
    last_name: str
    date_of_birth: date
    address_line1: str
    address_line2: str
    city: str
    postal_code: str
    province: str
    country: str
    occupation: str
    is_ciro_affiliate: bool


_SUMMARY = "id, external_id, status, updated_at"

_INSERT = f"""
    INSERT INTO users_user (id, partner_id, external_id, {", ".join(PROFILE_COLUMNS)})
    VALUES (%s, %s, %s{", %s" * len(PROFILE_COLUMNS)})
        ON CONFLICT (partner_id, external_id) DO NOTHING
 RETURNING status
"""
_FIND = f"SELECT {_SUMMARY} FROM users_user WHERE partner_id = %s AND external_id = %s"
# NO KEY: an import that refers to the user need not wait.
_LOCK = f"""
    SELECT {_SUMMARY}, {", ".join(StoredUser._fields[len(UserSummary._fields) :])} FROM users_user
     WHERE partner_id = %s AND external_id = %s FOR NO KEY UPDATE
"""
_UPDATE = f"""
    UPDATE users_user SET {", ".join(f"{column} = %s" for column in PROFILE_COLUMNS)} WHERE id = %s
 RETURNING updated_at
"""


def insert(user_id: uuid.UUID, partner_id: int, values: Mapping[str, Any]) -> str | None:
    """Stores a new user; its status, or None where the partner has one with this externalId.

    values: by column, external_id and all of PROFILE_COLUMNS.
    """
    profile = [values[column] for column in PROFILE_COLUMNS]
    row = statements.fetch_one(_INSERT, (user_id, partner_id, values["external_id"], *profile))
    return None if row is None else row[0]


def find(partner_id: int, external_id: str) -> Query[UserSummary]:
    """The partner's user of this externalId."""
    return Query(_FIND, (partner_id, external_id), UserSummary._make, as_text=True)


def lock(partner_id: int, external_id: str) -> StoredUser | None:
    """The partner's user of this externalId, held against other writers until the transaction ends."""
    found = statements.fetch(Query(_LOCK, (partner_id, external_id), StoredUser._make, as_text=True))
    return found[0] if found else None


def update(user: StoredUser) -> str:
    """Stores the profile of a locked user; its new updatedAt, which the database sets."""
    values = (*(getattr(user, column) for column in PROFILE_COLUMNS), user.id)
    query: Query[statements.Row] = Query(_UPDATE, values, as_text=True)
    moved = statements.fetch(query)
    if not moved:
        raise LookupError("The user is not there; it was not locked.")
    updated_at: str = moved[0][0]
    return updated_at
