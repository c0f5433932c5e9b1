from core.management.base import Outcome, ServiceCommand, listing
from users.decisions.proposals import rules_in_force
from users.models import Condition
from users.models.approvals import RULED_MOVES


class Command(ServiceCommand):
    help = "Lists which moves of a user's status take two people."

    def perform(self) -> Outcome:
        rules = []
        for start, end in RULED_MOVES:
            found = rules_in_force().filter(from_status=start, to_status=end).values_list("condition", "created_at")
            for condition, since in found or [(Condition.NEVER.value, None)]:
                rules.append({"from": start.value, "to": end.value, "condition": condition, "since": since})
        return listing("rules", rules)
