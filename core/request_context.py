"""The request that this thread handles: for its log line and metrics, and when its response is due."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class RequestContext(threading.local):
    """The request that the thread handles now."""

    request_id: str | None = None
    # The partner's slug and the prefix of the API key that was sent, verified or not.
    partner: str | None = None
    key: str | None = None
    # The username of who is signed in to the back office.
    staff: str | None = None
    # An AuthenticationFailure's value, for status 401.
    cause: str | None = None
    # What was wrong, for the log line of a 400 or 404.
    refusal: str | None = None
    # Whether the failure, or the wait, is one that a sandbox partner asked for.
    is_simulated: bool = False
    statements: int = 0
    # The time that statements and commits took.
    sql_seconds: float = 0.0
    # Until when the database is waited for, connections included (monotonic); None: each statement has its own limit.
    deadline: float | None = None

    def begin(self, request_id: str | None) -> None:
        """Forget the previous request."""
        self.request_id = request_id
        self.partner = self.key = self.staff = self.cause = self.refusal = None
        self.is_simulated = False
        self.statements = 0
        self.sql_seconds = 0.0
        self.deadline = None

    def add_statements(self, number: int, seconds: float) -> None:
        """Count statements, failed ones included, and their total duration."""
        self.statements += number
        self.sql_seconds += seconds

    @contextmanager
    def without_deadline(self) -> Iterator[None]:
        """Have the time of the block not count, as that of a wait that a sandbox partner asked for."""
        begun, deadline, self.deadline = time.monotonic(), self.deadline, None
        try:
            yield
        finally:
            if deadline is not None:
                self.deadline = deadline + time.monotonic() - begun


request_context = RequestContext()
