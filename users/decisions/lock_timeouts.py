"""Timeouts of the lock on a user's row, which somebody else is changing."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError
from django.utils.translation import gettext as _
from psycopg.errors import LockNotAvailable


class LockTimeoutError(Exception):
    """The user's row stayed locked for longer than lock_timeout. Its text says so, for people."""


@contextmanager
def convert_lock_timeout() -> Iterator[None]:
    """Raise LockTimeoutError in place of the database's error. Used around a transaction on one user."""
    try:
        yield
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise LockTimeoutError(_("The user is being changed right now: try again.")) from None
