"""Which moves take two people, and which two: docs/operations.md, "Decisions of two people".

The database holds the rules by the same functions (users/sql); here they have texts for people.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.core.checks import Error
from django.db import transaction
from django.db.models import BooleanField, Func, OuterRef, Subquery

from core.database import statements
from core.database.base import SET_CONTEXT
from core.database.pipeline import Query
from core.refusals import RefusedError
from partners.checks import Found, installation_check
from partners.monitoring.health import named
from staff.models import Staff
from users.models import ApprovalRule, Condition, User
from users.models.approvals import RULED_MOVES
from users.models.statuses import Status
from users.refusals import text_of

LEAST_DECIDERS = 2
# It takes 20 seconds for 100,000 users in one status; a rule is set once.
MAX_COUNT_SECONDS = 120

_CONCERNED = """
    SELECT count(*) FROM users_user u
     WHERE EXISTS (SELECT FROM unnest(%s::text[]) AS condition WHERE users_meets(u.id, condition))
           AND u.status = %s AND NOT u.is_sandbox
"""
_MOVES_OF_TWO = """
    SELECT (SELECT state = 'open' FROM users_proposal WHERE user_id = u.id ORDER BY created_at DESC LIMIT 1) IS TRUE,
           ARRAY(SELECT wanted FROM unnest(%s::text[]) AS wanted WHERE users_takes_two(u.id, wanted))
      FROM users_user u WHERE u.id = %s
"""


def set_rules(
    *, from_status: str, to_status: str, conditions: Sequence[str], context: Mapping[str, str], using: str | None
) -> dict[str, Any]:
    """Set for which users a move takes two people: where any of the conditions holds. They replace those of before.

    conditions: one or more; `never` alone. context: who does it (core/database/statements.py). using: the alias of
    the owner's connection; None: only say what would be `replaced`, and how many real users are `concerned`.

    Raises RefusedError; nothing has changed then.
    """
    _check_rules(from_status, to_status, conditions)
    query: Query[tuple[int]] = Query(_CONCERNED, (list(conditions), from_status))
    [[concerned]] = statements.fetch_within(MAX_COUNT_SECONDS, query)
    replaced = [
        one.condition for one in rules_in_force() if (one.from_status, one.to_status) == (from_status, to_status)
    ]
    if using:
        rules = [
            ApprovalRule(from_status=from_status, to_status=to_status, condition=condition)
            for condition in dict.fromkeys(conditions)
        ]
        with transaction.atomic(using=using):
            statements.fetch(Query(f"SELECT {SET_CONTEXT}", (json.dumps(dict(context)),)), using)
            # One statement: its time is what they have in common.
            ApprovalRule.objects.using(using).bulk_create(rules)
    return {"replaced": replaced, "concerned": concerned}


def _check_rules(from_status: str, to_status: str, conditions: Sequence[str]) -> None:
    if (from_status, to_status) not in RULED_MOVES:
        moves = ", ".join(f"{start.value} {end.value}" for start, end in RULED_MOVES)
        raise RefusedError(f"This move takes one person. A rule can be set for: {moves}.")
    if unknown := set(conditions) - set(Condition.values):
        raise RefusedError(f"Unknown condition {', '.join(sorted(unknown))}; of: {', '.join(Condition.values)}.")
    if Condition.NEVER in conditions:
        if len(set(conditions)) > 1:
            raise RefusedError("`never` stands alone: it takes the other conditions back.")
        return
    names = [staff.get_username() for staff in deciders()]
    if len(names) < LEAST_DECIDERS:
        present = ", ".join(names) or "nobody"
        raise RefusedError(f"A rule needs two active accounts that may decide; there is {present}.")


def rules_in_force() -> Sequence[ApprovalRule]:
    """The rules of each move that ever had any: those that were set with the newest, so one at least."""
    newest = ApprovalRule.objects.filter(from_status=OuterRef("from_status"), to_status=OuterRef("to_status"))
    set_last = newest.order_by("-id").values("created_at")[:1]
    return list(ApprovalRule.objects.filter(created_at=Subquery(set_last)).order_by("from_status", "to_status", "id"))


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
    """Why these two accounts may not decide together, empty if they may; and who made, re-roled or reset both of late.

    By the function that the database's triggers call. permission: of users, which both need.
    """
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
