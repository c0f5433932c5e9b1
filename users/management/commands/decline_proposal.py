from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from partners.management.base import Outcome, ServiceCommand
from users.decisions import proposals
from users.management.base import add_by, uuid_argument
from users.models import Proposal
from users.staff.staff import acting_staff


class Command(ServiceCommand):
    help = "Declines a proposal: the user's status stays."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "proposal", metavar="PROPOSAL_ID", type=uuid_argument, help="as propose_user_status shows it"
        )
        add_by(parser)
        parser.add_argument("--note", required=True, help="why; stored permanently")

    def perform(self, *, proposal: Any, by: str, note: str, **_: Any) -> Outcome:
        try:
            declined = proposals.decline(proposal_id=proposal, by=acting_staff(by), note=note)
        except Proposal.DoesNotExist:
            raise CommandError("Proposal not found.") from None
        return Outcome(
            {"status": declined.from_status, "state": declined.state},
            [f"Declined: the user stays {declined.from_status}."],
        )
