"""Database sessions that make changes of their own, whose transactions overlap, and a reader of the feed."""

import secrets
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg

from tests.factories import NOON

# Not in CAD: those of a partner take turns up to their commit, since they are added up.
_RECORD = """
    INSERT INTO transactions_conversion (partner_id, user_id, conversion_id, created_at, from_currency, from_amount,
                                         to_currency, to_amount, rate)
    SELECT partner_id, id, md5(random()::text || n), %s, 'EUR', 1, 'USD', 1.1, 1.1
      FROM users_user, generate_series(1, %s) AS n WHERE id = %s
"""
_PUBLISH = """
    INSERT INTO transactions_document (partner_id, user_id, document_id, created_at, type, title, content_type,
                                       size_bytes, sha256, storage_name)
    SELECT partner_id, id, gen_random_uuid(), %s, 'accountStatement', 'March', 'application/pdf', 10, sha256(''), %s
      FROM users_user WHERE id = %s
"""
_DECIDE = """
    INSERT INTO users_statuschange (user_id, from_status, to_status, by_id, reason)
    SELECT id, status, %s, %s, 'As ever.' FROM users_user WHERE id = %s
"""


_ADD_USERS = """
    INSERT INTO users_user (id, partner_id, external_id, email, first_name, last_name, date_of_birth, address_line1,
                            city, country, occupation, is_ciro_affiliate)
    SELECT gen_random_uuid(), id, 'writes-' || gen_random_uuid(), 'ada@example.com', 'Ada', 'Byron', '1990-12-10',
           '100 King St W', 'Toronto', 'CA', 'Engineer', false
      FROM partners_partner, generate_series(1, %s) AS n WHERE slug = %s
 RETURNING id
"""


def add_users(url: str, slug: str, count: int) -> list[UUID]:
    """Make users of a partner."""
    with psycopg.connect(url) as connection:
        return [user for (user,) in connection.execute(_ADD_USERS, (count, slug)).fetchall()]


class Writer:
    """A session of the serving role, in a transaction from its first statement on."""

    def __init__(self, url: str) -> None:
        self.connection: psycopg.Connection[Any] = psycopg.connect(url)

    def close(self) -> None:
        self.connection.close()

    def execute(self, statement: str, *parameters: object) -> None:
        self.connection.execute(statement, parameters)

    def record(self, user: UUID | str, count: int = 1, at: datetime = NOON) -> None:
        """Insert conversions of a user, by one statement."""
        self.execute(_RECORD, at, count, user)

    def publish(self, user: UUID | str, at: datetime = NOON) -> None:
        """Insert a document of a user."""
        self.execute(_PUBLISH, at, secrets.token_hex(16), user)

    def decide(self, user: UUID | str, to_status: str, by: int) -> None:
        """Move a user's status."""
        self.execute(_DECIDE, to_status, by, user)

    def locked_status(self, user: UUID | str) -> str:
        """Lock a user and return its status."""
        row = self.connection.execute(
            "SELECT status FROM users_user WHERE id = %s FOR NO KEY UPDATE", [user]
        ).fetchone()
        assert row is not None
        return str(row[0])

    def commit(self) -> None:
        self.connection.commit()

    def rollback(self) -> None:
        self.connection.rollback()


@dataclass
class Follower:
    """A reader of a partner's feed that goes on after the last position it has seen."""

    connection: psycopg.Connection[Any]
    partner_id: int
    limit: int = 100
    position: int = 0
    seen: list[tuple[str, UUID, dict[str, Any]]] = field(default_factory=list)

    def poll(self) -> int:
        """Read what is there; return its number."""
        rows = self.connection.execute(
            "SELECT position, type, user_id, data FROM events_event WHERE partner_id = %s AND position > %s"
            " ORDER BY position LIMIT %s",
            (self.partner_id, self.position, self.limit),
        ).fetchall()
        if rows:
            self.position = rows[-1][0]
        self.seen += [(kind, user, data) for _, kind, user, data in rows]
        return len(rows)
