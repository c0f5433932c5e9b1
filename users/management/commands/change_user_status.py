from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand, optional_rfc_3339
from users.decisions.compliance import change_status
from users.management.base import acting_on, add_take_over, find_user
from users.models import Status
from users.staff.staff import find_staff


class Command(ServiceCommand):
    help = "Moves a user's status, with the rules and the history of the back office."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")
        parser.add_argument("external_id", metavar="EXTERNAL_ID", help="the partner's identifier of the user")
        parser.add_argument("status", metavar="STATUS", choices=Status.values, help="the new status")
        parser.add_argument("--reason", required=True, help="stored permanently")
        parser.add_argument("--reason-code", default="", metavar="CODE", help="one of the move's, or absent")
        parser.add_argument("--by", required=True, metavar="STAFF_USERNAME", help="an active account that may decide")
        add_take_over(parser)

    def perform(
        self,
        *,
        slug: str,
        external_id: str,
        status: str,
        reason: str,
        reason_code: str,
        by: str,
        take_over: bool,
        **_: Any,
    ) -> Outcome:
        user, staff = find_user(slug, external_id), find_staff(by)
        with acting_on(user.pk, by=staff, take_over=take_over):
            change = change_status(user=user, to_status=status, by=staff, reason=reason, reason_code=reason_code)
        return Outcome(
            {
                "userId": str(user.pk),
                "externalId": user.external_id,
                "fromStatus": change.from_status,
                "status": user.status,
                "updatedAt": optional_rfc_3339(user.updated_at),
            },
            [f"User {user.external_id} of {slug}: {change.from_status} → {user.status}."],
        )
