from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from partners.management.base import Outcome, ServiceCommand
from users.management.base import ERASER, add_by, uuid_argument
from users.models import Hold
from users.records.holds import release_hold
from users.staff.staff import acting_staff


class Command(ServiceCommand):
    help = "Ends a hold on a user's records, by another account than the one that placed it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("hold_id", metavar="HOLD_ID", type=uuid_argument, help="the hold's id")
        parser.add_argument("--reason", required=True, help="stored with the user's records")
        add_by(parser, ERASER)

    def perform(self, *, hold_id: UUID, reason: str, by: str, **_: Any) -> Outcome:
        try:
            release_hold(hold_id=hold_id, by=acting_staff(by), reason=reason)
        except Hold.DoesNotExist:
            raise CommandError(f"There is no hold {hold_id}.") from None
        return Outcome({"holdId": str(hold_id)}, [f"Hold {hold_id} is released."])
