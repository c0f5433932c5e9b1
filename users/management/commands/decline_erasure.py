from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from partners.management.base import Outcome, ServiceCommand
from users.management.base import ERASER, add_by, uuid_argument
from users.models import ErasureProposal
from users.records import erasures
from users.staff.staff import acting_staff


class Command(ServiceCommand):
    help = "Declines a proposed erasure: nobody is erased by it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("erasure", metavar="ERASURE_ID", type=uuid_argument, help="as propose_erasure shows it")
        parser.add_argument("--reason", required=True, help="stored until the first of its users is erased")
        add_by(parser, ERASER)

    def perform(self, *, erasure: UUID, reason: str, by: str, **_: Any) -> Outcome:
        try:
            declined = erasures.decline(proposal_id=erasure, by=acting_staff(by), reason=reason)
        except ErasureProposal.DoesNotExist:
            raise CommandError("Erasure not found.") from None
        return Outcome({"state": declined.present_state}, ["Declined: nobody is erased."])
