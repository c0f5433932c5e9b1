"""A circuit breaker: while the database cannot be reached, requests fail at once.

Each attempt to connect to a host that drops packets takes seconds and one of the few threads. So after a failed attempt
the circuit is open: statements are refused, except those of one request at a time, the probe.
"""

import time

import structlog
from django.db import OperationalError

log = structlog.get_logger("config.database")

# From a failed attempt to the next probe.
PAUSE_SECONDS = 0.5
# From a probe without an outcome to the next: longer than a probe can take.
PROBE_SECONDS = 10.0


class Circuit:
    """The state of one database in one process, for all threads."""

    def __init__(self) -> None:
        # Monotonic; 0 while the circuit is closed.
        self._next_probe = 0.0
        # Answers of the database so far.
        self.answers = 0

    def check(self) -> int:
        """Raise OperationalError while the circuit is open; return the number of answers so far, for `failed`."""
        if not self._next_probe:
            return self.answers
        now = time.monotonic()
        if now < self._next_probe:
            raise OperationalError("The database cannot be reached.")
        # This request is the probe; the others fail until its outcome.
        self._next_probe = now + PROBE_SECONDS
        return self.answers

    def failed(self, answers: int) -> None:
        """Open the circuit after a failure. answers: the result of `check`; if there were more since, ignore it."""
        if answers != self.answers:
            return
        if not self._next_probe:
            log.error("database unreachable: requests are refused")
        self._next_probe = time.monotonic() + PAUSE_SECONDS

    def answered(self) -> None:
        """Close the circuit after an answer."""
        self.answers += 1
        if self._next_probe:
            self._next_probe = 0.0
            log.warning("database reachable again")
