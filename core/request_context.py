"""The request that this thread handles: for the lines of the log and metrics, and when its response is due."""

import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from structlog.processors import add_log_level
from structlog.typing import EventDict, WrappedLogger

# MAX_FRAMES limits each exception of a chain, MAX_LOCATIONS all of them.
MAX_FRAMES = 12
MAX_LOCATIONS = 100


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
        # Of this thread; without its values the class's are in force.
        vars(self).clear()
        self.request_id = request_id

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


def add_context(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """Add level, time, exception, request and key to a line; one processor, as each costs every request."""
    add_log_level(logger, name, event)
    event["timestamp"] = f"{datetime.now(UTC).replace(tzinfo=None).isoformat()}Z"
    info = event.pop("exc_info", None)
    info = sys.exc_info() if info is True else info
    error = info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event["failure"] = _failure(error)
    if request_context.request_id is not None:
        event.setdefault("request_id", request_context.request_id)
    if request_context.key is not None:
        event.setdefault("partner", request_context.partner)
        event.setdefault("key", request_context.key)
    if request_context.staff is not None:
        event.setdefault("staff", request_context.staff)
    return event


def _failure(error: BaseException | None) -> list[str]:
    failure: list[str] = []
    while error is not None and len(failure) < MAX_LOCATIONS:
        failure.append(f"{type(error).__module__}.{type(error).__qualname__}")
        frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
        failure += [f"  {frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return failure
