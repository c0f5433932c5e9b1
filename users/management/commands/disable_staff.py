from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand
from users.staff.staff import find_staff
from users.staff.staff_access import disable


class Command(ServiceCommand):
    help = "Disables a staff account: it is signed out, and its claims return to the queue."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", metavar="USERNAME", help="the login name")
        parser.add_argument("--reason", required=True, help="stored permanently")

    def perform(self, *, username: str, reason: str, **_: Any) -> Outcome:
        staff = find_staff(username)
        ended, released = disable(staff=staff, reason=reason)
        line = f"Staff account {username} is disabled; sessions ended: {ended}, claims back in the queue: {released}."
        return Outcome({"username": staff.username, "sessions": ended, "claims": released}, [line])
