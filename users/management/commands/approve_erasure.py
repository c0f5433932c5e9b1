from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from core.formats.rfc_3339 import format_timestamp
from partners.management.base import Outcome, ServiceCommand
from users.management.base import ERASER, add_by, uuid_argument
from users.models import ErasureProposal
from users.records import erasures
from users.staff.staff import acting_staff


class Command(ServiceCommand):
    help = "Approves an erasure that another person proposed: erase_due may carry it out."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("erasure", metavar="ERASURE_ID", type=uuid_argument, help="as propose_erasure shows it")
        add_by(parser, f"the second of two people, {ERASER}")

    def perform(self, *, erasure: UUID, by: str, **_: Any) -> Outcome:
        try:
            approved = erasures.approve(proposal_id=erasure, by=acting_staff(by))
        except ErasureProposal.DoesNotExist:
            raise CommandError("Erasure not found.") from None
        until = format_timestamp(approved.expires_at)
        return Outcome(
            {"state": approved.present_state}, [f"Approved: erase_due may erase {approved.users} users until {until}."]
        )
