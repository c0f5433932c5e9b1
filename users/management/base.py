"""What commands about users share."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.core.management.base import CommandError
from django.db import transaction

from partners.management.base import find_partner
from users.cases import claims
from users.models import Staff, User


def find_user(slug: str, external_id: str) -> User:
    """A partner's user. Raises CommandError."""
    try:
        return find_partner(slug).users.get(external_id=external_id)
    except User.DoesNotExist:
        raise CommandError(f"Partner {slug} has no user {external_id!r}.") from None


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


def uuid_argument(text: str) -> UUID:
    """A type for argparse."""
    try:
        return UUID(text)
    except ValueError:
        raise ArgumentTypeError("must be a UUID") from None
