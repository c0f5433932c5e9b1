from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand
from partners.rfc_3339 import format_timestamp
from users.decisions import proposals
from users.management.base import acting_on, add_take_over, find_user
from users.models import Status
from users.staff.staff import find_staff


class Command(ServiceCommand):
    help = "Proposes a move of a user's status that takes two people."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")
        parser.add_argument("external_id", metavar="EXTERNAL_ID", help="the partner's identifier of the user")
        parser.add_argument("status", metavar="STATUS", choices=Status.values, help="the new status")
        parser.add_argument("--reason", required=True, help="stored permanently")
        parser.add_argument("--reason-code", default="", metavar="CODE", help="one of the move's, or absent")
        parser.add_argument("--by", required=True, metavar="STAFF_USERNAME", help="the first of two people")
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
            proposal = proposals.propose(user=user, to_status=status, by=staff, reason=reason, reason_code=reason_code)
        expires_at = format_timestamp(proposal.expires_at)
        return Outcome(
            {"proposalId": str(proposal.pk), "expiresAt": expires_at},
            [f"Proposal {proposal.pk} waits for another account until {expires_at}."],
        )
