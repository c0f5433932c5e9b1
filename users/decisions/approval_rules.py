"""Which moves take two people, and which two, by the database's functions: docs/operations.md."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import Error
from django.db.models import BooleanField, Func, OuterRef, QuerySet, Subquery

from core.database import statements
from partners.checks import Found, installation_check
from partners.monitoring.health import named
from staff.models import Staff
from users.models import ApprovalRule, Condition, User
from users.models.approvals import RULED_MOVES
from users.models.statuses import Status
from users.refusals import text_of

LEAST_DECIDERS = 2
_MOVES_OF_TWO = """
    SELECT (SELECT state = 'open' FROM users_proposal WHERE user_id = u.id ORDER BY created_at DESC LIMIT 1) IS TRUE,
           ARRAY(SELECT wanted FROM unnest(%s::text[]) AS wanted WHERE users_takes_two(u.id, wanted))
      FROM users_user u WHERE u.id = %s
"""


def rules_in_force() -> QuerySet[ApprovalRule]:
    """The rules of each move that ever had any: those that were set with the newest, so one at least."""
    newest = ApprovalRule.objects.filter(from_status=OuterRef("from_status"), to_status=OuterRef("to_status"))
    set_last = newest.order_by("-id").values("created_at")[:1]
    return ApprovalRule.objects.filter(created_at=Subquery(set_last)).order_by("from_status", "to_status", "id")


def deciders() -> Sequence[Staff]:
    """The active accounts that may decide and have signed in once, by name."""
    may: Any = Func("pk", function="staff_may_decide", output_field=BooleanField())
    return list(Staff.objects.filter(may, password_is_one_time=False).order_by("username"))


def moves_of_two(user: User) -> tuple[frozenset[Status], bool]:
    """The moves of a user that take two people, and whether nobody has ended the latest proposal; one statement."""
    ends = sorted({end.value for _start, end in RULED_MOVES})
    is_proposed, moves = statements.fetch_one(_MOVES_OF_TWO, (ends, user.pk)) or (False, [])
    return frozenset(map(Status, moves)), is_proposed


def pair_of(first: Staff, second: Staff, *, permission: str = "decide_user") -> tuple[str, str]:
    """Why these two may not decide together, empty if they may; and who made, re-roled or reset both of late."""
    found = statements.fetch_one("SELECT * FROM staff_pair(%s, %s, %s)", (first.pk, second.pk, permission))
    refusal, makers = found or (None, "")
    names = {"first": first.get_username(), "second": second.get_username()}
    return text_of(refusal, **names) if refusal else "", makers


@installation_check
def check_deciders() -> Found:
    """Two who may decide where a rule needs them, else one."""
    names = [one.get_username() for one in deciders()]
    needed = LEAST_DECIDERS if any(rule.condition != Condition.NEVER for rule in rules_in_force()) else 1
    if len(names) < needed:
        text = f"Accounts that may decide and have signed in: {named(names) or 'none'}; {needed} needed."
        yield Error(text, hint="Create another with the role reviewer: `create_staff`.", id="psi.E031")
