"""What waits too long for a user's row, because somebody else is changing it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError
from django.utils.translation import gettext as _
from psycopg.errors import LockNotAvailable


class BusyError(Exception):
    """The user's row stayed locked for longer than lock_timeout. Its text says so, for people."""


@contextmanager
def busy_users_refused() -> Iterator[None]:
    """Around a transaction on one user. Raises BusyError in place of the database's error."""
    try:
        yield
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise BusyError(_("The user is being changed right now: try again.")) from None
