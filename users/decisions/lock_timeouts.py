"""Timeouts of the lock on a user's row, which somebody else is changing."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError
from django.utils.translation import gettext as _
from psycopg.errors import LockNotAvailable

from partners.refusals import RefusedError


@contextmanager
def convert_lock_timeout() -> Iterator[None]:
    """Raise RefusedError in place of the database's error. Used around a transaction on one user."""
    try:
        yield
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise RefusedError(_("The user is being changed right now: try again.")) from None
