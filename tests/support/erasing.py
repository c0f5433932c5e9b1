"""Erasures that two people have approved: users are erased by nothing less. Users that are dated back."""

from datetime import datetime
from uuid import UUID

import psycopg
import pytest
from django.db.models import F, Value

from config.embedded.server import SUPERUSER
from core.database import serving_role
from tests.conftest import database_url
from tests.support.approval_rules import reviewer, superuser
from users import retention
from users.models import ErasureProposal, User


def approve_erasure(*users: User) -> ErasureProposal:
    """Have two reviewers propose and approve that these are erased, who are due."""
    ids = [user.pk for user in users]
    proposal = retention.propose_erasure(by=reviewer(), reason="Their years are over.", user_ids=ids)
    return retention.approve_erasure(proposal_id=proposal.pk, by=reviewer())


def erase(owner: psycopg.Connection, user: User, years: int = 5) -> None:
    """Erase a user of an approved erasure, without a commit of its own."""
    owner.execute("INSERT INTO users_erasure (user_id, years) VALUES (%s, %s)", (user.pk, years))


def age_erasures(interval: str) -> None:
    """Have all erasures been proposed, and those that ended have ended, so much earlier."""
    with superuser() as database:
        database.execute(
            f"UPDATE users_erasureproposal SET created_at = created_at - interval '{interval}',"
            f" ended_at = ended_at - interval '{interval}'"
        )


def date_back(user_id: UUID, since: datetime) -> None:
    """Have the user of a committed transaction been in its status since then."""
    with psycopg.connect(database_url(serving_role.SERVING, SUPERUSER), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE users_user SET status_since = %s WHERE id = %s", (since, user_id))


def make_due(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the rules find this user alone due: of nobody in an uncommitted transaction the years can be over."""
    no = Value(value=False)
    found = User.objects.filter(pk=user.pk).annotate(due_at=F("status_since"), held=no, in_erasure=no)
    monkeypatch.setattr(retention, "due_users", lambda **_: found)
