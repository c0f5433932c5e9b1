import json

from django.core.management.base import CommandError
from django.db import transaction

from core.database import serving_role, statements
from core.database.base import SET_CONTEXT
from core.database.pipeline import Query
from core.management.arguments import DRY_RUN, Argument
from core.management.base import Outcome, ServiceCommand
from users.decisions.proposals import LEAST_DECIDERS, deciders, rules_in_force
from users.models import ApprovalRule, Condition, Status
from users.models.approvals import RULED_MOVES

# It takes 20 seconds for 100,000 users in one status; a rule is set once.
MAX_COUNT_SECONDS = 120
_CONCERNED = """
    SELECT count(*) FROM users_user u
     WHERE EXISTS (SELECT FROM unnest(%s::text[]) AS condition WHERE users_meets(u.id, condition))
           AND u.status = %s AND NOT u.is_sandbox
"""


class Command(ServiceCommand):
    help = "Sets which moves of a user's status take two people. Needs OWNER_DATABASE_URL; is recorded."

    arguments = (
        Argument("from_status", metavar="FROM", choices=Status.values, help="the status before the move"),
        Argument("to_status", metavar="TO", choices=Status.values, help="the status after it"),
        Argument(
            "conditions",
            metavar="CONDITION",
            nargs="+",
            help=f"of which users, any of: {', '.join(Condition.values)}; they replace those of the move",
        ),
        DRY_RUN,
    )

    def perform(self, *, from_status: str, to_status: str, conditions: list[str], dry_run: bool) -> Outcome:
        _check(from_status, to_status, conditions)
        query: Query[tuple[int]] = Query(_CONCERNED, (conditions, from_status))
        [[concerned]] = statements.fetch_within(MAX_COUNT_SECONDS, query)
        move = {"from_status": from_status, "to_status": to_status}
        replaced = [one.condition for one in rules_in_force().filter(**move)]
        if not dry_run:
            using = serving_role.owner_alias()
            with transaction.atomic(using=using):
                statements.fetch(Query(f"SELECT {SET_CONTEXT}", (json.dumps(self.actor({})),)), using)
                # One statement: its time is what they have in common.
                rules = [ApprovalRule(**move, condition=condition) for condition in dict.fromkeys(conditions)]
                ApprovalRule.objects.using(using).bulk_create(rules)
        verb = "would take" if dry_run else "takes"
        found = {"replaced": replaced, "concerned": concerned, "dryRun": dry_run}
        return Outcome(
            {"from": from_status, "to": to_status, "conditions": conditions, **found},
            [
                f"{from_status} → {to_status} {verb} two people: {', '.join(conditions)}.",
                f"Before: {', '.join(replaced) or Condition.NEVER}.",
                f"Users in {from_status} whom it concerns now: {concerned}.",
            ],
        )


def _check(from_status: str, to_status: str, conditions: list[str]) -> None:
    if (from_status, to_status) not in RULED_MOVES:
        moves = ", ".join(f"{start.value} {end.value}" for start, end in RULED_MOVES)
        raise CommandError(f"This move takes one person. A rule can be set for: {moves}.")
    if unknown := set(conditions) - set(Condition.values):
        raise CommandError(f"Unknown condition {', '.join(sorted(unknown))}; of: {', '.join(Condition.values)}.")
    if Condition.NEVER in conditions:
        if len(set(conditions)) > 1:
            raise CommandError("`never` stands alone: it takes the other conditions back.")
        return
    names = [staff.get_username() for staff in deciders()]
    if len(names) < LEAST_DECIDERS:
        raise CommandError(
            f"A rule needs two active accounts that may decide; there is {', '.join(names) or 'nobody'}."
        )
