"""The sandbox's part in the handling of a request: contract, section 11."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import structlog
from django.db import DatabaseError, InterfaceError
from django.http.response import HttpResponseBase

from core.database import errors
from core.request_context import request_context
from partners import request_log
from partners.api import throttling
from partners.api.errors import UnavailableError
from partners.api.request import PartnerRequest
from partners.api.sandbox import faults
from partners.api.sandbox.faults import Fault
from partners.authentication import diagnosis, keys
from partners.authentication.keys import Caller
from partners.authentication.signature_authentication import (
    BEFORE_THE_KEY,
    AuthenticationFailure,
    SignatureRefusedError,
)
from partners.authentication.signatures import NotUtf8Error
from partners.models import KEY_PREFIXES, Mode

log = structlog.get_logger("partners.diagnosis")

_EXCHANGED = (
    "X-Api-Key holds a secret: key and secret are exchanged. Send the API key, which begins with psi_test_key_, sign"
    " with the secret, and rotate this one, because it was sent."
)


class SandboxHooks:
    """Called around the handling of a request; for a live partner's each does nothing.

    caller: of a sandbox partner, once it is known. fault: that the request asks for.
    """

    caller: Caller | None = None
    fault: Fault | None = None

    def __init__(self, request: PartnerRequest) -> None:
        self._request = request
        self._arrived_at = time.time()

    def authenticated(self, caller: Caller) -> None:
        """From now on, the request is among those that the caller sent, if it is a sandbox partner."""
        if caller.mode is Mode.SANDBOX:
            self.caller = caller

    def refused(self, error: SignatureRefusedError) -> None:
        """Count a refused signature of a sandbox key in force, and explain it within the rate limit.

        Every other key costs and gets nothing more: the kind of a key is in its text, so that none is looked up for a
        live partner's. A test secret in place of the key is named by its prefix, so that nothing is told of any key.
        """
        sent = self._request.header("HTTP_X_API_KEY") or ""
        try:
            if sent.startswith(keys.SECRET_PREFIXES[Mode.SANDBOX]):
                cause, message = "secret", _EXCHANGED
            elif sent.startswith(KEY_PREFIXES[Mode.SANDBOX]) and (caller := self._explained(error)):
                cause, message = diagnosis.explain(self._request, error, caller.secret)
            else:
                return
            canonical = self._request.canonical_request(self._request.header("HTTP_X_REQUEST_TIMESTAMP") or "")
            error.diagnosis = {"cause": cause, "message": message, "canonicalRequest": keys.masked(canonical)}
        except NotUtf8Error:
            # There is no canonical request.
            pass
        except Exception:
            # The response is a 401 all the same.
            log.exception("refusal could not be explained")

    def _explained(self, error: SignatureRefusedError) -> Caller | None:
        """The caller of a sandbox key in force within its rate limit. Counts the request."""
        caller = error.caller
        if error.failure in BEFORE_THE_KEY:
            with suppress(DatabaseError, InterfaceError):
                caller, _ = keys.find_caller(self._request.key_digest)
        is_explained = caller is not None and caller.is_active and caller.mode is Mode.SANDBOX
        self.caller = caller if is_explained else None
        # A repeated signature was counted before it was found.
        if self.caller is None or error.failure is AuthenticationFailure.REPLAY:
            return self.caller
        rate, count, _ = throttling.count_request(self.caller)
        return self.caller if count <= rate.amount else None

    def before(self, *, waits_in_transaction: bool) -> None:
        """Simulate the fault that is asked for, before anything is done. Raises ApiError.

        waits_in_transaction: whether SLOW is left to PartnerAPIView.write, which waits while it holds its key's lock,
        so that a look-up of the key waits too.
        """
        if self.caller is None:
            return
        self.fault = faults.requested_fault(self._request)
        if self.fault is Fault.SLOW and waits_in_transaction:
            return
        faults.simulate(self.fault, self.caller.partner_id)

    @contextmanager
    def around(self) -> Iterator[None]:
        """Have a request that waits too long for a lock, as of a slow write, be unavailable without an alert."""
        try:
            yield
        except DatabaseError as error:
            if self.caller is None or errors.sqlstate(error) != errors.LOCK_NOT_AVAILABLE:
                raise
            request_context.is_simulated = True
            raise UnavailableError from None

    def after(self, response: HttpResponseBase, *, is_recorded: bool) -> HttpResponseBase:
        """Keep the request for its sender; the response to send, which for LOST_ANSWER breaks the connection."""
        if self.caller is None:
            return response
        if is_recorded:
            partner_id = self.caller.partner_id
            request_log.record(self._request, response, partner_id=partner_id, arrived_at=self._arrived_at)
        return faults.LostResponse() if self.fault is Fault.LOST_ANSWER else response
