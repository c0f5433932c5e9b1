"""What commands about users share."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from core.management.arguments import Argument, number
from core.management.base import Outcome, ServiceCommand
from partners.management import find_partner
from staff.accounts import acting_staff
from users import claims
from users.models import Status, User

# Who may hold and erase records, in the help of commands.
ERASER = "an active account that may decide or audits"


class UserArgument(Argument):
    """SLUG and EXTERNAL_ID, of which the command gets the `user`."""

    def add_to(self, parser: Any) -> None:
        """Add both."""
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")
        parser.add_argument("external_id", metavar="EXTERNAL_ID", help="the partner's identifier of the user")

    def values(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The user. Raises CommandError."""
        slug, external_id = options["slug"], options["external_id"]
        try:
            return {"user": find_partner(slug).users.get(external_id=external_id)}
        except User.DoesNotExist:
            raise CommandError(f"Partner {slug} has no user {external_id!r}.") from None


def by(who: str = "an active account that may decide", *, required: bool = True) -> Argument:
    """--by, the person who acts."""
    return Argument("--by", required=required, metavar="STAFF_USERNAME", find=acting_staff, help=who)


def confirm(text: str, **options: Any) -> Argument:
    """--confirm, the number of users to be erased."""
    return number("--confirm", 0, 100_000_000, f"the number of these users, {text}", **options)


USER = UserArgument()
TO_STATUS = Argument("to_status", metavar="STATUS", choices=Status.values, help="the new status")
NOTE = Argument("--note", default="", metavar="TEXT", help="for staff; stored permanently")
REASON_CODE = Argument("--reason-code", metavar="CODE", help="one of the move's, or absent")
TAKE_OVER = Argument(
    "--take-over", action="store_true", help="take the case from the person who has claimed it; is recorded"
)


class CaseCommand(ServiceCommand):
    """A person's act on a case, in one transaction; TAKE_OVER is one of its arguments."""

    # Of whose rows the first argument is the id, where the case is not `user`.
    row: Any = None

    def perform(self, *, take_over: bool, **options: Any) -> Outcome:
        """Take the case over where that is asked for, then act. Raises RefusedError, ObjectDoesNotExist."""
        with transaction.atomic():
            if take_over:
                of_row = self.row and self.row.objects.get(pk=options[self.arguments[0].name]).user_id
                claims.take_over(user_id=of_row or options["user"].pk, by=options["by"])
            return super().perform(**options)
