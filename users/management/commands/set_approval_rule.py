from typing import Any

from core.database import serving_role
from core.management.arguments import DRY_RUN, Argument
from core.management.base import Outcome, ServiceCommand
from users.decisions.approval_rules import set_rules
from users.models import Condition, Status


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
        rules: dict[str, Any] = {"from_status": from_status, "to_status": to_status, "conditions": conditions}
        using = None if dry_run else serving_role.owner_alias()
        found = set_rules(**rules, using=using, context=self.actor({}))
        verb = "would take" if dry_run else "takes"
        return Outcome(
            {"from": from_status, "to": to_status, "conditions": conditions, **found, "dryRun": dry_run},
            [
                f"{from_status} → {to_status} {verb} two people: {', '.join(conditions)}.",
                f"Before: {', '.join(found['replaced']) or Condition.NEVER}.",
                f"Users in {from_status} whom it concerns now: {found['concerned']}.",
            ],
        )
