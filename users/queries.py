"""The prepared statements on users: what a request under /v1 cannot do without.

Each takes the partner: another partner's user cannot be reached, so it need not be refused.
"""

import uuid
from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

from partners import sql
from partners.keys import PARTNER, PartnerRef
from users.columns import PROFILE_COLUMNS


class UserSummary(NamedTuple):
    """What answers say of a user. updated_at: as PostgreSQL writes it (sql.rfc_3339)."""

    id: str
    external_id: str
    status: str
    updated_at: str


class StoredUser(NamedTuple):
    """A user's row. updated_at: as PostgreSQL writes it (sql.rfc_3339)."""

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
_FIND = f"SELECT {_SUMMARY} FROM users_user WHERE partner_id = {PARTNER} AND external_id = %s"
# NO KEY: an import that refers to the user need not wait.
_LOCK = f"""
    SELECT {_SUMMARY}, {", ".join(StoredUser._fields[len(UserSummary._fields) :])} FROM users_user
     WHERE partner_id = %s AND external_id = %s FOR NO KEY UPDATE
"""
_UPDATE = f"""
    UPDATE users_user SET {", ".join(f"{column} = %s" for column in PROFILE_COLUMNS)} WHERE id = %s
 RETURNING updated_at
"""


def insert(partner_id: int, values: Mapping[str, Any]) -> tuple[uuid.UUID, str] | None:
    """The new user's id and status, or None where the partner has one with this externalId.

    values: by column, external_id and all of PROFILE_COLUMNS.
    """
    user_id = uuid.uuid4()
    profile = [values[column] for column in PROFILE_COLUMNS]
    row = sql.fetch_one(_INSERT, (user_id, partner_id, values["external_id"], *profile))
    return None if row is None else (user_id, row[0])


def find(external_id: str, partner: PartnerRef) -> UserSummary | None:
    """The partner's user of this externalId."""
    found = sql.fetch_text(UserSummary._make, _FIND, (*partner, external_id))
    return found[0] if found else None


def lock(partner_id: int, external_id: str) -> StoredUser | None:
    """The partner's user of this externalId, held against other writers until the transaction ends."""
    found = sql.fetch_text(StoredUser._make, _LOCK, (partner_id, external_id))
    return found[0] if found else None


def update(user: StoredUser) -> str:
    """Stores the profile of a locked user; its new updatedAt, which the database sets."""
    moved = sql.fetch_text(tuple, _UPDATE, (*(getattr(user, column) for column in PROFILE_COLUMNS), user.id))
    if not moved:
        raise LookupError("The user is not there; it was not locked.")
    updated_at: str = moved[0][0]
    return updated_at
