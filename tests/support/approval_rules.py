"""Rules of decisions of two people, which the owner sets: committed, as the serving role could not set them."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from partners.db import serving_role
from tests import factories
from tests.conftest import database_url
from users.models import Staff
from users.models.approvals import RULED_MOVES


def set_rule(condition: str, start: str = "pendingCompliance", end: str = "active") -> None:
    with psycopg.connect(database_url(serving_role.OWNER), autocommit=True) as owner:
        owner.execute(
            "INSERT INTO users_approvalrule (from_status, to_status, condition) VALUES (%s, %s, %s)",
            (start, end, condition),
        )


@contextmanager
def no_rules_left() -> Iterator[None]:
    """After the block all moves take one person again."""
    try:
        yield
    finally:
        for start, end in RULED_MOVES:
            set_rule("never", start.value, end.value)


def reviewer() -> Staff:
    """Another one each time."""
    staff: Staff = factories.StaffFactory.create(username=f"r-{uuid.uuid4().hex[:12]}", role="reviewer")
    return staff
