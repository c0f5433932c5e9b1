from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand
from users.staff.staff import find_staff
from users.staff.staff_access import disable


class Command(ServiceCommand):
    help = "Disables a staff account: it is signed out, its claims return to the queue, its proposals are declined."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", metavar="USERNAME", help="the login name")
        parser.add_argument("--reason", required=True, help="stored permanently")

    def perform(self, *, username: str, reason: str, **_: Any) -> Outcome:
        staff = find_staff(username)
        done = disable(staff=staff, reason=reason)
        line = (
            f"Staff account {username} is disabled; sessions ended: {done.sessions}, claims back in the queue:"
            f" {done.claims}, proposals declined: {done.proposals}."
        )
        return Outcome({"username": staff.username, **done._asdict()}, [line])
