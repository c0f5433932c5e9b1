from typing import Any

from core.formats.rfc_3339 import format_timestamp
from partners.management.base import Outcome, ServiceCommand, table
from users.decisions.approval_rules import rules_in_force
from users.models import Condition
from users.models.approvals import RULED_MOVES
from users.models.statuses import Status


class Command(ServiceCommand):
    help = "Lists which moves of a user's status take two people."

    def perform(self, **_: Any) -> Outcome:
        by_move = {move: list[tuple[str, str | None]]() for move in RULED_MOVES}
        for rule in rules_in_force():
            by_move[Status(rule.from_status), Status(rule.to_status)].append(
                (rule.condition, format_timestamp(rule.created_at))
            )
        rules = [
            {"from": start.value, "to": end.value, "condition": condition, "since": since}
            for (start, end), conditions in by_move.items()
            for condition, since in conditions or [(Condition.NEVER.value, None)]
        ]
        return Outcome(
            {"rules": rules}, table(("FROM", "TO", "CONDITION", "SINCE"), [tuple(rule.values()) for rule in rules])
        )
