from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand
from users.management.base import ERASER, add_by, add_user, find_user
from users.records.holds import place_hold
from users.staff.staff import acting_staff


class Command(ServiceCommand):
    help = "Keeps a user's records, whatever the clock of their retention says, until another person releases the hold."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_user(parser)
        parser.add_argument("--reason", required=True, help="stored with the user's records")
        add_by(parser, ERASER)

    def perform(self, *, slug: str, external_id: str, reason: str, by: str, **_: Any) -> Outcome:
        user = find_user(slug, external_id)
        hold = place_hold(user_id=user.pk, by=acting_staff(by), reason=reason)
        return Outcome({"holdId": str(hold.pk)}, [f"User {external_id} of {slug} is held: {hold.pk}."])
