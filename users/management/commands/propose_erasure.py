from argparse import ArgumentParser
from typing import Any

from core.formats.rfc_3339 import format_timestamp
from partners.management.base import Outcome, ServiceCommand, find_partner, whole_number
from users.management.base import ERASER, MAX_USERS, add_by
from users.records import erasures
from users.staff.staff import acting_staff


class Command(ServiceCommand):
    help = (
        "Proposes the erasure of all records that are due, are not held and are in no other erasure. Another account"
        " approves it, then erase_due carries it out."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--confirm",
            required=True,
            type=whole_number(0, MAX_USERS),
            metavar="N",
            help="the number of these users; any other number is refused",
        )
        parser.add_argument("--reason", required=True, help="stored until the first of them is erased")
        parser.add_argument("--partner", metavar="SLUG", help="only of this partner's users")
        add_by(parser, f"the first of two people, {ERASER}")

    def perform(self, *, confirm: int, reason: str, partner: str | None, by: str, **_: Any) -> Outcome:
        proposal = erasures.propose(
            by=acting_staff(by), reason=reason, count=confirm, partner=find_partner(partner) if partner else None
        )
        expires_at = format_timestamp(proposal.expires_at)
        return Outcome(
            {"erasureId": str(proposal.pk), "users": proposal.users, "expiresAt": expires_at},
            [f"Erasure {proposal.pk} of {proposal.users} users waits for another account until {expires_at}."],
        )
