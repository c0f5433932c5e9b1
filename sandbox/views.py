"""Views of sandbox partners' requests under /v1: faults, diagnosis and the list of requests (contract, section 11)."""

import time
from contextlib import suppress
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
from partners.api.errors import MethodNotAllowedError, NotFoundError, UnavailableError
from partners.api.idempotency import KeyUse
from partners.api.request import PartnerRequest
from partners.api.response import LostResponse
from partners.api.serializers import StrictSerializer
from partners.authentication import diagnosis, keys, signature_authentication
from partners.authentication.signature_authentication import AuthenticationFailure, Caller, SignatureRefusedError
from partners.authentication.signatures import NotUtf8Error
from partners.models import Mode
from sandbox import faults
from sandbox.faults import Fault
from users.api.views import check_external_id, found
from users.models import User

log = structlog.get_logger("sandbox.diagnosis")

# Found before the API key is read.
_BEFORE_THE_KEY = {
    AuthenticationFailure.MISSING_HEADER,
    AuthenticationFailure.MALFORMED_TIMESTAMP,
    AuthenticationFailure.CLOCK_SKEW,
}


class SandboxMixin(PartnerAPIView):
    """What the sandbox does around a view, by the methods that DRF calls.

    caller: of a sandbox partner, once it is known. fault: that the request asks for.
    """

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
            self.fault = faults.requested_fault(self.request)

    def get_handler(self) -> Handler:
        """The view's method, slow if that is asked for."""
        return partial(self._slowly, super().get_handler())

    def _slowly(self, handler: Handler, request: PartnerRequest, **kwargs: Any) -> HttpResponseBase:
        """Wait once, before anything is done; under an Idempotency-Key with its lock, so that a look-up waits too.

        A write whose response is stored does not wait.
        """
        if self.fault is not Fault.SLOW or self.has_waited:
            return handler(request, **kwargs)
        self.has_waited = True
        partner_id, key = request.user.partner_id, request.header("HTTP_IDEMPOTENCY_KEY") or ""
        if request.method == "GET" or self.idempotency_key_use is not KeyUse.HONOURED or not is_uuid(key):
            faults.wait(partner_id)
            return handler(request, **kwargs)
        with transaction.atomic():
            if idempotency.find_write(partner_id, key.lower()) is None:
                faults.wait(partner_id)
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
        """Count a refused signature of a sandbox key in force, and explain it within the rate limit.

        Every other key costs and gets nothing more: the kind of a key is in its text, so that none is looked up for a
        live partner's.
        """
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
