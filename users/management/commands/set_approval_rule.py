from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from partners.db import serving_role
from partners.management.base import Outcome, ServiceCommand
from users.decisions.approval_rules import RuleRefusedError, set_rule
from users.models import Condition, Status


class Command(ServiceCommand):
    help = "Sets which moves of a user's status take two people. Needs OWNER_DATABASE_URL; is recorded."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("from_status", metavar="FROM", choices=Status.values, help="the status before the move")
        parser.add_argument("to_status", metavar="TO", choices=Status.values, help="the status after it")
        parser.add_argument("condition", metavar="CONDITION", help=f"of which users: {', '.join(Condition.values)}")

    def perform(self, *, from_status: str, to_status: str, condition: str, **_: Any) -> Outcome:
        try:
            rule = set_rule(
                from_status=from_status,
                to_status=to_status,
                condition=condition,
                using=serving_role.owner_alias(),
                context=self.actor({}),
            )
        except RuleRefusedError as error:
            raise CommandError(str(error)) from error
        data = {"from": rule.from_status, "to": rule.to_status, "condition": rule.condition}
        return Outcome(data, [f"{from_status} → {to_status} takes two people: {condition}."])
