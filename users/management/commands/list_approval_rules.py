from typing import Any

from partners.management.base import Outcome, ServiceCommand, table
from partners.rfc_3339 import format_timestamp
from users.decisions.approval_rules import rules_in_force


class Command(ServiceCommand):
    help = "Lists which moves of a user's status take two people."

    def perform(self, **_: Any) -> Outcome:
        rules = [
            {
                "from": rule.from_status,
                "to": rule.to_status,
                "condition": rule.condition,
                "since": format_timestamp(rule.created_at),
            }
            for rule in rules_in_force()
        ]
        rows = [tuple(rule.values()) for rule in rules]
        lines = table(("FROM", "TO", "CONDITION", "SINCE"), rows) if rows else ["All decisions take one person."]
        return Outcome({"rules": rules}, lines)
