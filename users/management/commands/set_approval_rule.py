from argparse import ArgumentParser
from typing import Any

from core.database import serving_role
from partners.management.base import Outcome, ServiceCommand
from users.decisions.approval_rules import conditions_of, count_concerned, set_rules
from users.models import Condition, Status


class Command(ServiceCommand):
    help = "Sets which moves of a user's status take two people. Needs OWNER_DATABASE_URL; is recorded."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("from_status", metavar="FROM", choices=Status.values, help="the status before the move")
        parser.add_argument("to_status", metavar="TO", choices=Status.values, help="the status after it")
        parser.add_argument(
            "conditions",
            metavar="CONDITION",
            nargs="+",
            help=f"of which users, any of: {', '.join(Condition.values)}; they replace those of the move",
        )
        parser.add_argument("--dry-run", action="store_true", help="only say what it would replace, and concern")

    def perform(self, *, from_status: str, to_status: str, conditions: list[str], dry_run: bool, **_: Any) -> Outcome:
        rules: dict[str, Any] = {"from_status": from_status, "to_status": to_status, "conditions": conditions}
        concerned = count_concerned(**rules)
        replaced = conditions_of(from_status, to_status)
        if not dry_run:
            set_rules(**rules, using=serving_role.owner_alias(), context=self.actor({}))
        verb = "would take" if dry_run else "takes"
        return Outcome(
            {"from": from_status, "to": to_status, "conditions": conditions}
            | {"replaced": replaced, "concerned": concerned, "dryRun": dry_run},
            [
                f"{from_status} → {to_status} {verb} two people: {', '.join(conditions)}.",
                f"Before: {', '.join(replaced) or Condition.NEVER}.",
                f"Users in {from_status} whom it concerns now: {concerned}.",
            ],
        )
