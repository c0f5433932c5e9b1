"""X-Sandbox-Fault: failures that a sandbox partner asks for (contract, section 11). Live partners' is ignored."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from django.db import DatabaseError
from django.http import StreamingHttpResponse

from partners.api.errors import InternalError, TooManyRequestsError, UnavailableError, invalid_parameter
from partners.api.idempotency import Effect, StoredResponse
from partners.api.request import PartnerRequest
from partners.db import statements
from partners.models import Mode
from partners.monitoring.request_context import request_context

HEADER = "X-Sandbox-Fault"
SLOW_SECONDS = 5.0
RETRY_AFTER_SECONDS = 1
# Each slow request holds a thread of the worker: further ones get 503.
MAX_SLOW = 2
# PostgreSQL's lock_not_available.
LOCK_NOT_AVAILABLE = "55P03"


class Fault(StrEnum):
    """The values of the header."""

    TOO_MANY_REQUESTS = "tooManyRequests"
    INTERNAL_ERROR = "internalError"
    UNAVAILABLE = "unavailable"
    SLOW = "slow"
    LOST_ANSWER = "lostAnswer"


NOT_A_FAULT = f"Must be one of: {', '.join(Fault)}."

_slow_requests = threading.BoundedSemaphore(MAX_SLOW)


def requested_fault(request: PartnerRequest) -> Fault | None:
    """The fault that an authenticated request asks for. Raises BadRequestError for an unknown one."""
    value = request.header("HTTP_X_SANDBOX_FAULT")
    if value is None or request.user.mode != Mode.SANDBOX:
        return None
    if value not in set(Fault):
        raise invalid_parameter(HEADER, NOT_A_FAULT, "notAllowed")
    # Not for the alerts.
    request_context.is_simulated = True
    return Fault(value)


def simulate(fault: Fault | None) -> None:
    """Fail, or wait, before anything is done; LOST_ANSWER comes after it. Raises ApiError."""
    match fault:
        case Fault.TOO_MANY_REQUESTS:
            raise TooManyRequestsError(RETRY_AFTER_SECONDS)
        case Fault.INTERNAL_ERROR:
            raise InternalError
        case Fault.UNAVAILABLE:
            raise UnavailableError
        case Fault.SLOW:
            _wait()


def is_slow_write(fault: Fault | None, request: PartnerRequest) -> bool:
    """Whether the request waits in its transaction, by `slow_effect`: a write that a look-up of its key waits for."""
    has_key = request.header("HTTP_IDEMPOTENCY_KEY") is not None
    return fault is Fault.SLOW and request.method != "GET" and has_key


def slow_effect(effect: Effect) -> Effect:
    """The effect of a slow write: it first waits, holding the lock of its Idempotency-Key and no other.

    A write whose response is stored already does not wait, and one that is retried waits once.
    """
    has_waited = False

    def perform() -> StoredResponse:
        nonlocal has_waited
        if not has_waited:
            # BEGIN, the lock and the look for a stored response.
            statements.run_queued()
            has_waited = True
            _wait()
        return effect()

    return perform


def _wait() -> None:
    with slow_slot():
        time.sleep(SLOW_SECONDS)


@contextmanager
def slow_slot(wait_seconds: float = 0.0) -> Iterator[None]:
    """Be one of the MAX_SLOW sandbox requests of this process that may take seconds.

    wait_seconds: for another to end. Raises UnavailableError, without an alert, where none has ended by then.
    """
    if not _slow_requests.acquire(timeout=wait_seconds):
        request_context.is_simulated = True
        raise UnavailableError
    try:
        yield
    finally:
        _slow_requests.release()


@contextmanager
def without_alerts(mode: Mode) -> Iterator[None]:
    """A sandbox request that waits too long for a lock, as of a slow write, is unavailable without an alert."""
    try:
        yield
    except DatabaseError as error:
        if mode != Mode.SANDBOX or statements.sqlstate(error) != LOCK_NOT_AVAILABLE:
            raise
        request_context.is_simulated = True
        raise UnavailableError from None


class LostResponse(StreamingHttpResponse):
    """A response that breaks the connection: it announces a byte more than it sends.

    The server then closes the connection, and a proxy in front the client's: no client takes it for a whole response.
    It is no failure of the service, and so no line in a log.
    """

    def __init__(self) -> None:
        # More pieces than the server keeps in memory (hyper's queue has 16): the head is sent before the body ends
        # early. A proxy that got no head would send a whole response of its own.
        pieces = [b" "] * 64
        super().__init__(iter(pieces), status=502, headers={"Content-Length": str(len(pieces) + 1)})
