"""Which moves take two people, and which two: docs/operations.md, "Decisions of two people".

The database holds the rules by the same SQL (users/models/approval_triggers.py); here they have texts for people.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.contrib.auth.models import Permission
from django.db import connection, transaction
from django.db.models import Q
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext as _

from partners.db import statements
from partners.db.history_context import SET_CONTEXT
from partners.db.statements import Query
from users.models import ApprovalRule, Condition, Staff, User
from users.models.approval_triggers import related, takes_two
from users.models.approvals import RULED_MOVES
from users.models.statuses import Status

PERMISSION = "users.decide_user"
LEAST_DECIDERS = 2


class RuleRefusedError(Exception):
    """A rule that cannot be set. Its text says why, for people."""


def set_rule(
    *, from_status: str, to_status: str, condition: str, using: str, context: Mapping[str, str]
) -> ApprovalRule:
    """Set for which users a move takes two people.

    using: the alias of the owner's connection. context: who does it (partners/db/history_context.py).

    Raises RuleRefusedError; nothing has changed then.
    """
    if (from_status, to_status) not in RULED_MOVES:
        moves = ", ".join(f"{start.value} {end.value}" for start, end in RULED_MOVES)
        raise RuleRefusedError(f"This move takes one person. A rule can be set for: {moves}.")
    if condition not in Condition.values:
        raise RuleRefusedError(f"Unknown condition; one of: {', '.join(Condition.values)}.")
    if condition != Condition.NEVER:
        names = [staff.get_username() for staff in deciders()]
        if len(names) < LEAST_DECIDERS:
            present = ", ".join(names) or "nobody"
            raise RuleRefusedError(f"A rule needs two active accounts that may decide; there is {present}.")
    with transaction.atomic(using=using):
        statements.fetch(Query(f"SELECT {SET_CONTEXT}", (json.dumps(dict(context)),)), using)
        return ApprovalRule.objects.using(using).create(
            from_status=from_status, to_status=to_status, condition=condition
        )


def rules_in_force() -> Sequence[ApprovalRule]:
    """The newest rule of each move."""
    newest = ApprovalRule.objects.order_by("from_status", "to_status", "-id").distinct("from_status", "to_status")
    return list(newest)


def deciders() -> Sequence[Staff]:
    """The active accounts that may decide, by name."""
    app, codename = PERMISSION.split(".")
    permission = Permission.objects.filter(content_type__app_label=app, codename=codename)
    may = Q(is_superuser=True) | Q(groups__permissions__in=permission) | Q(user_permissions__in=permission)
    return list(Staff.objects.filter(may, is_active=True, is_staff=True).distinct().order_by("username"))


def needs_two(user: User, to_status: str) -> bool:
    """Whether this move of the user takes two people; one look-up in an index."""
    expression = RawSQL(takes_two("users_user", "users_user.status", "%s"), [str(to_status)])  # noqa: S611
    return bool(User.objects.filter(pk=user.pk).values_list(expression, flat=True).first())


class Standing(NamedTuple):
    """The moves of a user that take two people, and whether a proposal is stored as open."""

    of_two: frozenset[Status]
    is_proposed: bool


def standing_of(user: User) -> Standing:
    """What the rules and proposals are to this user; one statement."""
    ends = sorted({end for _start, end in RULED_MOVES})
    sql = ", ".join(takes_two("users_user", "users_user.status", "%s") for _end in ends)
    proposed = "EXISTS (SELECT FROM users_proposal WHERE user_id = users_user.id AND state = 'open')"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {proposed}, {sql} FROM users_user WHERE id = %s", [*ends, user.pk])
        row: Any = cursor.fetchone()
    return Standing(frozenset(end for end, of_two in zip(ends, row[1:], strict=True) if of_two), bool(row[0]))


def why_not_together(first: Staff, second: Staff) -> str:
    """Why these two accounts may not decide together; empty if they may."""
    if first.pk == second.pk:
        return _("You proposed this: another account approves it.")
    if are_related(first, second):
        return _(
            "%(first)s and %(second)s may not decide together: within 30 days one made the other's account,"
            " changed its roles, or reset its password or second factor."
        ) % {"first": first.get_username(), "second": second.get_username()}
    return ""


def are_related(first: Staff, second: Staff) -> bool:
    """Whether one of them made the other's account, changed its roles or reset it lately."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {related('%s', '%s')}", [first.pk, second.pk])
        row: Any = cursor.fetchone()
    return bool(row[0])
