"""Views of sandbox partners' requests under /v1: faults, diagnosis and the list of requests (contract, section 11)."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import partial
from typing import Any

import structlog
from django.db import DatabaseError, InterfaceError, transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from core.database import errors
from core.formats import is_uuid
from core.request_context import request_context
from partners import request_log
from partners.api import idempotency, throttling
from partners.api.base import Handler, PartnerAPIView
from partners.api.errors import (
    InternalError,
    MethodNotAllowedError,
    NotFoundError,
    TooManyRequestsError,
    UnavailableError,
    invalid_parameter,
)
from partners.api.idempotency import KeyUse
from partners.api.request import PartnerRequest
from partners.api.response import LostResponse
from partners.api.serializers import StrictSerializer
from partners.authentication import diagnosis, keys, signature_authentication
from partners.authentication.signature_authentication import AuthenticationFailure, Caller, SignatureRefusedError
from partners.authentication.signatures import NotUtf8Error
from partners.models import Mode
from users.api.views import check_external_id, found
from users.models import User

log = structlog.get_logger("sandbox.diagnosis")

# Found before the API key is read.
_BEFORE_THE_KEY = {
    AuthenticationFailure.MISSING_HEADER,
    AuthenticationFailure.MALFORMED_TIMESTAMP,
    AuthenticationFailure.CLOCK_SKEW,
}


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

# Those with a slow request under way, one each: none takes another's turn.
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
    """Hold one of this process's MAX_SLOW slots, one a partner. Raises UnavailableError if none is free in time."""

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


class SandboxMixin(PartnerAPIView):
    """What the sandbox does around a view. caller: a sandbox partner's, once known. fault: the one asked for."""

    caller: Caller | None = None
    fault: Fault | None = None
    has_waited = False
    is_refused = False

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Note when the request arrived."""
        self._arrived_at = time.time()
        return super().dispatch(request, *args, **kwargs)

    def perform_authentication(self, request: Request) -> None:
        """From now on, the request is among those that the caller sent."""
        super().perform_authentication(request)
        if self.request.user.mode is Mode.SANDBOX:
            self.caller = self.request.user

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raise the fault that is asked for, once the request is counted. Raises ApiError."""
        super().initial(request, *args, **kwargs)
        if self.caller is not None:
            self.fault = requested_fault(self.request)

    def get_handler(self) -> Handler:
        """The view's method, slow if that is asked for."""
        return partial(self._slowly, super().get_handler())

    def _slowly(self, handler: Handler, request: PartnerRequest, **kwargs: Any) -> HttpResponseBase:
        """Wait once, first, under the lock of an Idempotency-Key; not where the response to a write is stored."""
        if self.fault is not Fault.SLOW or self.has_waited:
            return handler(request, **kwargs)
        self.has_waited = True
        partner_id, key = request.user.partner_id, request.header("HTTP_IDEMPOTENCY_KEY") or ""
        if request.method == "GET" or self.idempotency_key_use is not KeyUse.HONOURED or not is_uuid(key):
            wait(partner_id)
            # What was read together with the API key's row is from before.
            request.rows = None
            return handler(request, **kwargs)
        with transaction.atomic():
            if idempotency.find_write(partner_id, key.lower()) is None:
                wait(partner_id)
            return handler(request, **kwargs)

    def handle_exception(self, exc: Exception) -> Any:
        """Explain a refused signature; a wait that is too long, as for a slow write, is no alert."""
        if isinstance(exc, SignatureRefusedError):
            self._explain(exc)
            self.is_refused = True
        elif self.caller is not None and errors.sqlstate(exc) == errors.LOCK_NOT_AVAILABLE:
            request_context.is_simulated = True
            exc = UnavailableError()
        return super().handle_exception(exc)

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Keep the request for its sender; the response to send, which for LOST_ANSWER breaks the connection."""
        response = super().finalize_response(request, response, *args, **kwargs)
        if self.caller is None:
            return response
        if self.is_refused or getattr(self, "is_recorded", True):
            request_log.record(request, response, partner_id=self.caller.partner_id, arrived_at=self._arrived_at)
        return LostResponse() if self.fault is Fault.LOST_ANSWER else response

    def _explain(self, error: SignatureRefusedError) -> None:
        """Count and, within the rate limit, explain a refused signature of a sandbox key in force; no other."""
        request = self.request
        try:
            caller = self._explained_caller(error)
            if caller is None:
                return
            cause, message = diagnosis.explain(request, error, caller.secret)
            canonical = request.canonical_request(request.header("HTTP_X_REQUEST_TIMESTAMP") or "")
            error.diagnosis = {"cause": cause, "message": message, "canonicalRequest": keys.masked(canonical)}
        except NotUtf8Error:
            # There is no canonical request.
            pass
        except Exception:
            # The response is a 401 all the same.
            log.exception("refusal could not be explained")

    def _explained_caller(self, error: SignatureRefusedError) -> Caller | None:
        """The caller of a sandbox key in force within its rate limit. Counts the request."""
        caller = error.caller
        if error.failure in _BEFORE_THE_KEY:
            with suppress(DatabaseError, InterfaceError):
                caller, _ = signature_authentication.find_caller(self.request.key_digest)
        is_explained = caller is not None and caller.is_active and caller.mode is Mode.SANDBOX
        self.caller = caller if is_explained else None
        # A repeated signature was counted before it was found.
        if self.caller is None or error.failure is AuthenticationFailure.REPLAY:
            return self.caller
        rate, count, _ = throttling.count_request(self.caller)
        return self.caller if count <= rate.amount else None


class NoFieldsSerializer(StrictSerializer[Any]):
    """An object without fields."""


class SandboxView(PartnerAPIView):
    """A view that does not exist for live partners, whatever the method: they get 404."""

    # A repeated POST would simulate once more.
    refuse_signature_reuse = True

    def get_handler(self) -> Handler:
        """The view's method, by name. A wrong one is refused later: only sandbox partners may learn of it."""
        with suppress(MethodNotAllowedError):
            return super().get_handler()
        return self.http_method_not_allowed

    def check_permissions(self, request: Request) -> None:
        """Raises NotFoundError for live partners, MethodNotAllowedError for others."""
        if self.request.user.mode is not Mode.SANDBOX:
            raise NotFoundError("Path not found.")
        super().get_handler()


class SandboxUserView(SandboxView):
    """A view of one user."""

    def get_user(self, external_id: str) -> User:
        """The partner's user. Raises BadRequestError, NotFoundError."""
        check_external_id(external_id)
        users = User.objects.filter(partner_id=self.request.user.partner_id, external_id=external_id)
        return found(list(users))
