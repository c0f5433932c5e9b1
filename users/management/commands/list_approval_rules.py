from core.management.base import Outcome, ServiceCommand, listing
from users.decisions.approval_rules import rules_in_force
from users.models import Condition
from users.models.approvals import RULED_MOVES


class Command(ServiceCommand):
    help = "Lists which moves of a user's status take two people."

    def perform(self) -> Outcome:
        in_force, rules = rules_in_force(), list[dict[str, object]]()
        for start, end in RULED_MOVES:
            found = [rule for rule in in_force if (rule.from_status, rule.to_status) == (start, end)]
            move = {"from": start.value, "to": end.value}
            rules += [{**move, "condition": rule.condition, "since": rule.created_at} for rule in found]
            if not found:
                rules.append({**move, "condition": Condition.NEVER.value, "since": None})
        return listing("rules", rules)
