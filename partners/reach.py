"""Whether the database can be reached: what is known of it spares requests the wait for a connection.

A host that drops packets keeps each attempt to connect waiting for seconds, and with it one of the few threads that
serve; requests behind it would wait many times as long. So after an attempt that failed, requests are refused at
once, but for one at a time that looks whether the database is back.
"""

import time

import structlog
from django.db import OperationalError

log = structlog.get_logger("partners.reach")

# How long after a failed attempt nobody tries; also how late a database that is back is noticed.
PAUSE_SECONDS = 0.5
# How long the others leave it to the one that looks, if they do not hear from it: longer than it can take.
LOOKING_SECONDS = 10.0


class Reach:
    """What one process knows of its database, for all its threads."""

    def __init__(self) -> None:
        # Monotonic; 0 while all is well.
        self._next_attempt = 0.0
        # How often the database has answered.
        self.answers = 0

    @property
    def is_in_doubt(self) -> bool:
        """Whether the last that was heard is that nobody could connect."""
        return bool(self._next_attempt)

    def check(self) -> int:
        """Before a request's first statement. Raises OperationalError where the database is known to be away.

        How many answers there were so far: for `lost`.
        """
        if not self._next_attempt:
            return self.answers
        now = time.monotonic()
        if now < self._next_attempt:
            raise OperationalError("The database is away.")
        # This request looks, and until it knows the others do not.
        self._next_attempt = now + LOOKING_SECONDS
        return self.answers

    def lost(self, answers: int) -> None:
        """Nobody could connect. answers: what `check` gave; who began before another was answered knows less."""
        if answers != self.answers:
            return
        if not self._next_attempt:
            log.error("the database is away: requests are refused until it is back")
        self._next_attempt = time.monotonic() + PAUSE_SECONDS

    def found(self) -> None:
        """The database has answered."""
        self.answers += 1
        if self._next_attempt:
            self._next_attempt = 0.0
            log.warning("the database is back")
