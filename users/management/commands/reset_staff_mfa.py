from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand
from users.staff.staff import find_staff
from users.staff.staff_access import reset_second_factor


class Command(ServiceCommand):
    help = "Removes a lost second factor and ends the person's sessions; they enrol again at the next login."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", metavar="USERNAME", help="the login name")
        parser.add_argument("--reason", required=True, help="stored permanently: how you verified their identity")

    def perform(self, *, username: str, reason: str, **_: Any) -> Outcome:
        staff = find_staff(username)
        factors, ended = reset_second_factor(staff=staff, reason=reason)
        return Outcome(
            {"username": staff.username, "factors": factors, "sessions": ended},
            [
                f"Second factors removed from {staff.username}: {factors}; sessions ended: {ended}.",
                "They enrol a new one at the next login.",
            ],
        )
