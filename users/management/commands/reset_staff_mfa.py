"""`manage.py reset_staff_mfa`."""

from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand
from users.services.staff import find_staff, reset_second_factor


class Command(ServiceCommand):
    """Removes the second factor of a member of staff who has lost it."""

    help = "Removes a staff member's lost second factor and ends their sessions; they enrol anew at the next login."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """USERNAME --reason TEXT."""
        super().add_arguments(parser)
        parser.add_argument("username", metavar="USERNAME", help="who has lost the second factor")
        parser.add_argument("--reason", required=True, help="kept for good: how you know that it is them")

    def perform(self, *, username: str, reason: str, **_: Any) -> Outcome:
        """Removes it. Raises ValidationError where there is no such account, or no reason."""
        staff = find_staff(username)
        factors, ended = reset_second_factor(staff=staff, reason=reason)
        return Outcome(
            {"username": staff.username, "factors": factors, "sessions": ended},
            [
                f"Second factors removed from {staff.username}: {factors}; sessions ended: {ended}.",
                "At the next login they set up a new one.",
            ],
        )
