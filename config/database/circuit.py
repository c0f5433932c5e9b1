"""A circuit breaker: while the database cannot be reached, requests are refused at once.

A host that drops packets keeps each attempt to connect waiting for seconds, and with it one of the few threads that
serve; requests behind it would wait many times as long. So after a failed attempt the circuit is open: statements are
refused, except those of one request at a time, which probes.
"""

import time

import structlog
from django.db import OperationalError

log = structlog.get_logger("config.database")

# How long after a failed attempt nothing is tried; also how late a database that is back is noticed.
PAUSE_SECONDS = 0.5
# How long the others wait for the outcome of a probe: longer than it can take.
PROBE_SECONDS = 10.0


class Circuit:
    """What one process knows of one database, for all its threads."""

    def __init__(self) -> None:
        # When to probe next (monotonic); 0 while the circuit is closed.
        self._next_probe = 0.0
        # How often the database has answered.
        self.answers = 0

    def check(self) -> int:
        """Called before a request's first statement. Raises OperationalError while the circuit is open.

        Returns how many answers there were so far, for `failed`.
        """
        if not self._next_probe:
            return self.answers
        now = time.monotonic()
        if now < self._next_probe:
            raise OperationalError("The database cannot be reached.")
        # This request probes, and until it knows the others do not.
        self._next_probe = now + PROBE_SECONDS
        return self.answers

    def failed(self, answers: int) -> None:
        """No connection could be made, or no answer came. answers: what `check` returned.

        A failure that began before another request was answered is outdated, and ignored.
        """
        if answers != self.answers:
            return
        if not self._next_probe:
            log.error("the database cannot be reached: requests are refused until it is back")
        self._next_probe = time.monotonic() + PAUSE_SECONDS

    def answered(self) -> None:
        """The database has answered."""
        self.answers += 1
        if self._next_probe:
            self._next_probe = 0.0
            log.warning("the database is back")
