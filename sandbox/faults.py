"""X-Sandbox-Fault: failures that a sandbox partner asks for (contract, section 11). Live partners' is ignored."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from core.request_context import request_context
from partners.api.errors import InternalError, TooManyRequestsError, UnavailableError, invalid_parameter
from partners.api.request import PartnerRequest

HEADER = "X-Sandbox-Fault"
SLOW_SECONDS = 5.0
RETRY_AFTER_SECONDS = 1
# Each slow request holds a thread of the worker: further ones get 503.
MAX_SLOW = 2


class Fault(StrEnum):
    """The values of the header."""

    TOO_MANY_REQUESTS = "tooManyRequests"
    INTERNAL_ERROR = "internalError"
    UNAVAILABLE = "unavailable"
    SLOW = "slow"
    LOST_ANSWER = "lostAnswer"


NOT_A_FAULT = f"Must be one of: {', '.join(Fault)}."

# The partners whose slow requests are under way, one each: none takes another's turn.
_slow_partners: set[int] = set()
_slow_requests = threading.Condition()


def requested_fault(request: PartnerRequest) -> Fault | None:
    """The fault that a sandbox partner's request asks for. Raises it if it is an error, BadRequestError if unknown."""
    value = request.header("HTTP_X_SANDBOX_FAULT")
    if value is None:
        return None
    if value not in set(Fault):
        raise invalid_parameter(HEADER, NOT_A_FAULT, "notAllowed")
    # The alerts do not count it.
    request_context.is_simulated = True
    match Fault(value):
        case Fault.TOO_MANY_REQUESTS:
            raise TooManyRequestsError(RETRY_AFTER_SECONDS)
        case Fault.INTERNAL_ERROR:
            raise InternalError
        case Fault.UNAVAILABLE:
            raise UnavailableError
        case fault:
            return fault


def wait(partner_id: int) -> None:
    """Be slow. Raises UnavailableError where too many requests are."""
    with slow_slot(partner_id), request_context.without_deadline():
        time.sleep(SLOW_SECONDS)


@contextmanager
def slow_slot(partner_id: int, wait_seconds: float = 0.0) -> Iterator[None]:
    """Be one of the MAX_SLOW sandbox requests of this process that may take seconds, and the only one of its partner.

    wait_seconds: for another to end. Raises UnavailableError, without an alert, where none has ended by then.
    """

    def is_free() -> bool:
        return len(_slow_partners) < MAX_SLOW and partner_id not in _slow_partners

    with _slow_requests:
        if not _slow_requests.wait_for(is_free, wait_seconds):
            request_context.is_simulated = True
            raise UnavailableError
        _slow_partners.add(partner_id)
    try:
        yield
    finally:
        with _slow_requests:
            _slow_partners.remove(partner_id)
            _slow_requests.notify_all()
