from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand
from users.staff.roles import ROLES
from users.staff.staff import create_staff
from users.staff_login import invitations


class Command(ServiceCommand):
    help = "Creates a staff account and prints, once, its one-time password and an invitation link."
    shows_secret = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", metavar="USERNAME", help="the login name")
        parser.add_argument("--email", required=True, help="for people; no mail is sent to it")
        parser.add_argument("--role", required=True, choices=list(ROLES), help="the permissions of the account")

    def perform(self, *, username: str, email: str, role: str, **_: Any) -> Outcome:
        staff, password = create_staff(username=username, email=email, role=role)
        url = invitations.public_link(staff)
        return Outcome(
            {"username": staff.username, "password": password, "role": role, "invitationUrl": url},
            [
                f"Staff account {staff.username} was created with the role {role}.",
                f"One-time password: {password}",
                f"Or an invitation, valid 72 hours: {url}",
                "Each is shown only once and ends with the use of the other: hand one over securely now.",
            ],
        )
