from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand
from users.services.roles import ROLES
from users.services.staff import create_staff


class Command(ServiceCommand):
    help = "Creates a staff account and prints its one-time password, once."
    shows_secret = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", metavar="USERNAME", help="the login name")
        parser.add_argument("--email", required=True, help="for people; no mail is sent to it")
        parser.add_argument("--role", required=True, choices=list(ROLES), help="the permissions of the account")

    def perform(self, *, username: str, email: str, role: str, **_: Any) -> Outcome:
        staff, password = create_staff(username=username, email=email, role=role)
        return Outcome(
            {"username": staff.username, "password": password, "role": role},
            [
                f"Staff account {staff.username} was created with the role {role}.",
                f"One-time password: {password}",
                "It is shown only once: hand it over securely now.",
            ],
        )
