"""A circuit breaker, for PostgreSQL and Redis: after a failure, only one request at a time, the probe, waits for it.

Each attempt can take seconds and one of the few threads.
"""

import time


class CircuitBreaker:
    """The state of one server in one process, for all threads. It has no lock: a lost update costs one more attempt."""

    def __init__(self, *, pause_seconds: float, probe_seconds: float) -> None:
        """From a failure to the next probe; from a probe without an outcome: longer than a probe can take."""
        self._pause_seconds, self._probe_seconds = pause_seconds, probe_seconds
        # Monotonic; 0 while the circuit is closed.
        self._next_probe = 0.0
        # Failures: those that opened the circuit or kept it open.
        self.successes = self.failures = 0

    def attempt(self) -> int | None:
        """Return the number of successes so far, for `failed`; None if the circuit is open: there is no attempt."""
        if self._next_probe:
            now = time.monotonic()
            if now < self._next_probe:
                return None
            # This request is the probe; the others fail until its outcome.
            self._next_probe = now + self._probe_seconds
        return self.successes

    def failed(self, attempt: int) -> bool:
        """Open the circuit, unless there were successes since the attempt; return whether it was closed."""
        if attempt != self.successes:
            return False
        self.failures += 1
        was_open, self._next_probe = self._next_probe, time.monotonic() + self._pause_seconds
        return not was_open

    def succeeded(self) -> bool:
        """Close the circuit; return whether it was open."""
        self.successes += 1
        was_open, self._next_probe = self._next_probe, 0.0
        return bool(was_open)
