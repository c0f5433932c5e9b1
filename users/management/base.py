"""What commands about users share."""

from argparse import ArgumentTypeError
from uuid import UUID

from django.core.management.base import CommandError

from partners.management.base import find_partner
from users.models import User


def find_user(slug: str, external_id: str) -> User:
    """A partner's user. Raises CommandError."""
    try:
        return find_partner(slug).users.get(external_id=external_id)
    except User.DoesNotExist:
        raise CommandError(f"Partner {slug} has no user {external_id!r}.") from None


def uuid_argument(text: str) -> UUID:
    """A type for argparse."""
    try:
        return UUID(text)
    except ValueError:
        raise ArgumentTypeError("must be a UUID") from None
