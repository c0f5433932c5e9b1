"""What commands about users share."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError
from django.db import transaction

from partners.management.base import Outcome, ServiceCommand, find_partner
from users.cases import claims
from users.models import Staff, Status, User
from users.staff.staff import acting_staff

# Who may hold and erase records, in the help of commands.
ERASER = "an active account that may decide or audits"
MAX_USERS = 100_000_000


def find_user(slug: str, external_id: str) -> User:
    """A partner's user. Raises CommandError."""
    try:
        return find_partner(slug).users.get(external_id=external_id)
    except User.DoesNotExist:
        raise CommandError(f"Partner {slug} has no user {external_id!r}.") from None


def add_user(parser: ArgumentParser) -> None:
    """Add SLUG and EXTERNAL_ID, which find_user takes."""
    parser.add_argument("slug", metavar="SLUG", help="the partner's slug")
    parser.add_argument("external_id", metavar="EXTERNAL_ID", help="the partner's identifier of the user")


def add_by(parser: ArgumentParser, who: str = "an active account that may decide") -> None:
    """Add --by, the username of the person who acts."""
    parser.add_argument("--by", required=True, metavar="STAFF_USERNAME", help=who)


def add_take_over(parser: ArgumentParser) -> None:
    """Add --take-over, for commands that a claim of somebody else on the case stops."""
    parser.add_argument(
        "--take-over", action="store_true", help="take the case from the person who has claimed it; is recorded"
    )


@contextmanager
def acting_on(user_id: UUID, *, by: Staff, take_over: bool) -> Iterator[None]:
    """A transaction of a person's act on a case, which begins with taking it over where that is asked for."""
    with transaction.atomic():
        if take_over:
            claims.take_over(user_id=user_id, by=by)
        yield


class StatusMoveCommand(ServiceCommand):
    """A command by which a person moves a user's status, or proposes it."""

    # Whose username `--by` is.
    by_help: str

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the user, the move, its reason and the person."""
        add_user(parser)
        parser.add_argument("status", metavar="STATUS", choices=Status.values, help="the new status")
        parser.add_argument("--reason", required=True, help="stored permanently")
        parser.add_argument("--reason-code", metavar="CODE", help="one of the move's, or absent")
        add_by(parser, self.by_help)
        add_take_over(parser)

    def perform(self, *, slug: str, external_id: str, status: str, by: str, take_over: bool, **options: Any) -> Outcome:
        """Move or propose in one transaction. Raises CommandError, RefusedError."""
        user, staff = find_user(slug, external_id), acting_staff(by)
        reason = {name: options[name] for name in ("reason", "reason_code")}
        with acting_on(user.pk, by=staff, take_over=take_over):
            return self.move(user=user, to_status=status, by=staff, **reason)

    def move(self, *, user: User, to_status: str, by: Staff, reason: str, reason_code: str | None) -> Outcome:
        """Move the status, or propose it. Raises RefusedError."""
        raise NotImplementedError


def uuid_argument(text: str) -> UUID:
    """A type for argparse."""
    try:
        return UUID(text)
    except ValueError:
        raise ArgumentTypeError("must be a UUID") from None
