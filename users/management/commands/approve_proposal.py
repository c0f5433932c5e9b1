from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from partners.management.base import Outcome, ServiceCommand
from users.decisions import proposals
from users.management.base import acting_on, add_by, add_take_over, uuid_argument
from users.models import Proposal, ProposalState
from users.staff.staff import acting_staff


class Command(ServiceCommand):
    help = "Approves another person's proposal: the user's status moves."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "proposal", metavar="PROPOSAL_ID", type=uuid_argument, help="as propose_user_status shows it"
        )
        add_by(parser, "the second of two people")
        parser.add_argument("--note", default="", metavar="TEXT", help="for staff, stored permanently")
        add_take_over(parser)

    def perform(self, *, proposal: Any, by: str, note: str, take_over: bool, **_: Any) -> Outcome:
        staff = acting_staff(by)
        try:
            user_id = Proposal.objects.get(pk=proposal).user_id
            with acting_on(user_id, by=staff, take_over=take_over):
                change = proposals.approve(proposal_id=proposal, by=staff, note=note)
        except Proposal.DoesNotExist:
            raise CommandError("Proposal not found.") from None
        return Outcome(
            {"status": change.to_status, "state": ProposalState.APPROVED.value},
            [f"Approved: {change.from_status} → {change.to_status}."],
        )
