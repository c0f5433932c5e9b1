import math
from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from core.formats.rfc_3339 import format_timestamp
from partners.management.base import Outcome, ServiceCommand, find_partner, table
from users.requirements.requirements import not_closed_of_partner

DAY_SECONDS = 86_400


class Command(ServiceCommand):
    help = "Lists a partner's requirements that are not closed, oldest first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")
        parser.add_argument("--overdue", action="store_true", help="only open ones whose answer was due before now")

    def perform(self, *, slug: str, overdue: bool, **_: Any) -> Outcome:
        listed = [_data(one) for one in not_closed_of_partner(find_partner(slug), overdue=overdue)]
        headings = ("REQUIREMENT", "USER", "CODE", "STATE", "DUE", "DAYS LEFT")
        rows = [tuple(str(value) for value in data.values()) for data in listed]
        return Outcome({"requirements": listed}, table(headings, rows) if rows else [f"Partner {slug} has none."])


def _data(requirement: Any) -> dict[str, Any]:
    left = (requirement.due_at - timezone.now()).total_seconds()
    return {
        "requirementId": str(requirement.pk),
        "externalId": requirement.user.external_id,
        "code": requirement.code,
        "state": requirement.state,
        "dueAt": format_timestamp(requirement.due_at),
        # Whole days: 0 on the last one, negative once it has passed.
        "daysLeft": math.floor(left / DAY_SECONDS),
    }
