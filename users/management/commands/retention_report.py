from argparse import ArgumentParser
from typing import Any

from core.formats.rfc_3339 import format_timestamp
from partners.management.base import Outcome, ServiceCommand, table, whole_number
from users.records.retention import DueUser, due_users

MAX_DAYS = 36_600


class Command(ServiceCommand):
    help = "Lists the users whose records are due for erasure, or will be within N days, oldest first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--within-days",
            type=whole_number(0, MAX_DAYS),
            default=0,
            metavar="N",
            help="those too that will be due within so many days (default: 0)",
        )

    def perform(self, *, within_days: int, **_: Any) -> Outcome:
        users = due_users(within_days=within_days)
        held = sum(user.held for user in users)
        rows = [(one.partner, one.external_id, one.user_id, *_when(one)) for one in users]
        headings = ("PARTNER", "USER", "USER ID", "DUE SINCE", "HELD")
        return Outcome(
            {"due": len(users), "held": held, "users": [_data(user) for user in users]},
            [*(table(headings, rows) if rows else []), f"{len(users)} due, {held} of them held."],
        )


def _when(user: DueUser) -> tuple[str, str]:
    return format_timestamp(user.due_at), "held" if user.held else ""


def _data(user: DueUser) -> dict[str, Any]:
    return {
        "partner": user.partner,
        "externalId": user.external_id,
        "userId": str(user.user_id),
        "dueAt": format_timestamp(user.due_at),
        "held": user.held,
    }
