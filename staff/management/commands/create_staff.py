from django.conf import settings

from core.management.arguments import Argument, OneOf
from core.management.base import Outcome, ServiceCommand
from staff.accounts import create_staff, give_password
from staff.login import invitations
from staff.roles import ROLES


class Command(ServiceCommand):
    help = "Creates a staff account and prints, once, its one-time password and an invitation link."
    shows_secret = True

    arguments = (
        Argument("username", metavar="USERNAME", help="the login name"),
        Argument("--email", required=True, metavar="E", help="for people; no mail is sent to it"),
        OneOf(
            Argument("--role", choices=list(ROLES), help="the permissions of the account"),
            Argument(
                "--emergency",
                action="store_true",
                help="a superuser with a password, also while STAFF_PASSWORD_LOGIN is false",
            ),
            required=True,
        ),
    )

    def perform(self, *, username: str, email: str, role: str | None, **_emergency: bool) -> Outcome:
        staff = create_staff(username=username, email=email, role=role)
        if role is not None and not settings.STAFF_PASSWORD_LOGIN:
            line = f"Staff account {staff.username} was created with the role {role}: its owner signs in with"
            return Outcome(
                {"username": staff.username, "password": None, "role": role, "invitationUrl": None},
                f"{line} {settings.STAFF_OIDC_NAME}, by the address {staff.email}.",
            )
        password, role, url = give_password(staff), role or "superuser", invitations.public_link(staff)
        return Outcome(
            {"username": staff.username, "password": password, "role": role, "invitationUrl": url},
            [
                f"Staff account {staff.username} was created with the role {role}.",
                f"One-time password: {password}",
                f"Or an invitation, valid 72 hours: {url}",
                "Each is shown only once and ends with the use of the other: hand one over securely now.",
            ],
        )
