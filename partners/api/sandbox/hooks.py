"""The sandbox's part in the handling of a request: contract, section 11."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError
from django.http.response import HttpResponseBase

from partners import request_log
from partners.api.errors import UnavailableError
from partners.api.request import PartnerRequest
from partners.api.sandbox import diagnosis, faults
from partners.api.sandbox.faults import Fault
from partners.authentication.failures import SignatureRefusedError
from partners.authentication.keys import Caller
from partners.db import statements
from partners.models import Mode
from partners.monitoring.request_context import request_context


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
        """Give a refused signature its diagnosis, for a sandbox key in force alone."""
        self.caller = diagnosis.diagnose(self._request, error)

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
            if self.caller is None or statements.sqlstate(error) != statements.LOCK_NOT_AVAILABLE:
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
