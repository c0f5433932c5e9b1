"""X-Sandbox-Fault: failures that a sandbox partner asks for (contract, section 11). Live partners' is ignored."""

import threading
import time
from collections.abc import Iterator
from enum import StrEnum

from django.http import StreamingHttpResponse

from partners.api.errors import InternalError, TooManyRequestsError, UnavailableError, invalid_parameter
from partners.api.request import PartnerRequest
from partners.models import Mode
from partners.monitoring.request_context import request_context

HEADER = "X-Sandbox-Fault"
SLOW_SECONDS = 5.0
RETRY_AFTER_SECONDS = 1
# Each slow request holds a thread of the worker: further ones are answered as unavailable.
MOST_SLOW = 2


class Fault(StrEnum):
    """The values of the header."""

    TOO_MANY_REQUESTS = "tooManyRequests"
    INTERNAL_ERROR = "internalError"
    UNAVAILABLE = "unavailable"
    SLOW = "slow"
    LOST_ANSWER = "lostAnswer"


NOT_A_FAULT = f"Must be one of: {', '.join(Fault)}."

_slow_requests = threading.BoundedSemaphore(MOST_SLOW)


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
            if not _slow_requests.acquire(blocking=False):
                raise UnavailableError
            try:
                time.sleep(SLOW_SECONDS)
            finally:
                _slow_requests.release()


class LostAnswer(StreamingHttpResponse):
    """A response that breaks the connection: its body fails before the first byte.

    The server usually closes the connection before it has sent the head. If not, the head is that of a proxy whose
    server has gone, and its Content-Length tells every client that the response is not whole.
    """

    def __init__(self) -> None:
        super().__init__(_Broken(), status=502, headers={"Content-Length": "1"})


class _Broken(Iterator[bytes]):
    def __next__(self) -> bytes:
        raise ConnectionAbortedError(f"{HEADER}: {Fault.LOST_ANSWER}")
