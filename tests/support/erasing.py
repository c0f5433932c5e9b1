"""Erasures that two people have approved: users are erased by nothing less."""

import psycopg

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
