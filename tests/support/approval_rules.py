"""Rules of decisions of two people, which the owner sets: committed, as the serving role could not set them."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from core.database import serving_role
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.conftest import database_url
from users.models import User
from users.models.approvals import RULED_MOVES

_INSERT = "INSERT INTO users_approvalrule (from_status, to_status, condition) SELECT %s, %s, unnest(%s::text[])"


def set_rule(*conditions: str, start: str = "pendingCompliance", end: str = "active") -> None:
    with psycopg.connect(database_url(serving_role.OWNER), autocommit=True) as owner:
        owner.execute(_INSERT, (start, end, list(conditions)))


@contextmanager
def rule(*conditions: str) -> Iterator[None]:
    """In the block, of decisions that take two people, approvals have these conditions."""
    set_rule(*conditions)
    try:
        yield
    finally:
        set_rule("always")


@contextmanager
def no_rules_left() -> Iterator[None]:
    """After the block all moves take one person again."""
    try:
        yield
    finally:
        with psycopg.connect(database_url(serving_role.OWNER), autocommit=True) as owner:
            for start, end in RULED_MOVES:
                owner.execute(_INSERT, (start.value, end.value, ["never"]))


def superuser() -> psycopg.Connection[Any]:
    """A session for which no trigger runs; it sees what is committed."""
    connection = psycopg.connect(database_url(serving_role.OWNER, "postgres"), autocommit=True)
    connection.execute("SET session_replication_role = replica")
    return connection


def act(actor: Staff, action: str, on: Staff, *, days: int = 0, detail: str = "{}") -> None:
    """Have one account make, re-role or reset another, so many days ago. action, detail: of the audit log."""
    with superuser() as database:
        database.execute(
            "INSERT INTO core_auditentry (at, actor, actor_kind, action, object, detail)"
            f" VALUES (now() - interval '{days} days', %s, 'staff', %s, %s, %s)",
            (actor.username, action, on.username, detail),
        )


def new_user(partner: Partner, **fields: Any) -> User:
    user: User = factories.UserFactory.create(partner=partner, external_id=f"two-{uuid.uuid4()}", **fields)
    return user


def reviewer() -> Staff:
    """Another one each time."""
    staff: Staff = factories.StaffFactory.create(username=f"r-{uuid.uuid4().hex[:12]}", role="reviewer")
    return staff


@contextmanager
def identity_rule(time_zone: str = "America/Toronto") -> Iterator[None]:
    """In the block, a user becomes active only with a record of how its identity was verified."""
    with psycopg.connect(database_url(serving_role.OWNER), autocommit=True) as owner:
        insert = "INSERT INTO users_identityrule (is_on, time_zone) VALUES (%s, %s)"
        owner.execute(insert, (True, time_zone))
        try:
            yield
        finally:
            owner.execute(insert, (False, time_zone))
