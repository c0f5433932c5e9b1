"""`manage.py create_staff`."""

from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand
from users.services.roles import ROLES
from users.services.staff import create_staff


class Command(ServiceCommand):
    """Creates a staff account with a one-time password."""

    help = "Creates a staff account with a one-time password, which is printed this once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """USERNAME --email E --role ROLE."""
        super().add_arguments(parser)
        parser.add_argument("username", metavar="USERNAME", help="the name that the new account logs in with")
        parser.add_argument("--email", required=True, help="an address for people; nothing is sent to it")
        parser.add_argument("--role", required=True, choices=list(ROLES), help="what the account may do")

    def perform(self, *, username: str, email: str, role: str, **_: Any) -> Outcome:
        """Creates it. Raises ValidationError where a value is not valid or the username is taken."""
        staff, password = create_staff(username=username, email=email, role=role)
        return Outcome(
            {"username": staff.username, "password": password, "role": role},
            [
                f"Staff account {staff.username} is created, as {role}.",
                f"One-time password: {password}",
                "It is shown this once: hand it over safely now.",
            ],
        )
