"""The base view of all endpoints under /v1 (contract, section 1).

The order of checks: path, method, size, authentication, rate limit, media type, idempotency, parameters, existence,
body, age, conflict. `dispatch` does those up to the media type, `write` idempotency, and the views the others.
"""

import time
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.views import APIView

from partners import request_log
from partners.api import faults, idempotency, refusals
from partners.api.errors import MethodNotAllowedError, NotFoundError
from partners.api.idempotency import KeyUse
from partners.api.json import JsonParser, JsonRenderer
from partners.api.pagination import KeysetPagination
from partners.api.request import PartnerRequest
from partners.api.response import JsonResponse
from partners.api.throttling import PartnerRateThrottle
from partners.authentication.failures import SignatureRefusedError
from partners.authentication.first_round_trip import FirstRoundTrip
from partners.authentication.keys import Caller
from partners.authentication.signature_authentication import SignatureAuthentication
from partners.db.statements import Query
from partners.models import Mode

METHODS_WITH_BODY = frozenset({"POST", "PATCH"})


class PartnerAPIView(APIView):
    """A DRF view for signed requests; partners/api/checks.py refuses DRF's attributes that are not used here."""

    authentication_classes = (SignatureAuthentication,)
    throttle_classes = (PartnerRateThrottle,)
    parser_classes = (JsonParser,)
    renderer_classes = (JsonRenderer,)
    # Views that read `paginator` declare it.
    pagination_class: ClassVar[type[KeysetPagination[Any]]]
    # HEAD and OPTIONS are not allowed unless a view has them.
    http_method_names = ["get", "post", "patch"]  # noqa: RUF012 - Django's own declaration

    request: PartnerRequest
    # Whether a write without an Idempotency-Key takes effect once for its signature. A repeated POST is a conflict.
    refuse_signature_reuse = False
    idempotency_key_use = KeyUse.HONOURED
    fault: faults.Fault | None = None
    # Whether a sandbox partner finds requests for this path among those that it sent (contract, section 11).
    is_recorded = True
    # Whose list the request is in, if any.
    recorded_for: Caller | None = None

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """As Django's, without `self.head`, a reference cycle."""
        self.request, self.args, self.kwargs = self.initialize_request(request), args, kwargs

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Check and handle a request; in place of DRF's for the contract's order of checks."""
        api_request, self.headers, arrived_at = self.request, {}, time.time()
        try:
            handler = self.get_handler()
            api_request.read_body()
            if request.method == "GET" and self.is_prefetched:
                api_request.first_round_trip = FirstRoundTrip(partial(self.get_query, **self.kwargs))
            self.perform_authentication(api_request)
            caller = api_request.user
            if caller.mode is Mode.SANDBOX and self.is_recorded:
                self.recorded_for = caller
            # In place of DRF's order: a refused request is counted too.
            self.check_throttles(api_request)
            self.check_permissions(api_request)
            self.fault = faults.requested_fault(api_request)
            if not self.is_slow_write:
                faults.simulate(self.fault)
            if request.method in METHODS_WITH_BODY:
                api_request.parser  # noqa: B018 - raises UnsupportedMediaTypeError
                if self.idempotency_key_use is KeyUse.REFUSED:
                    idempotency.refuse_key(api_request)
            with faults.without_alerts(caller.mode):
                response: HttpResponseBase = handler(api_request, **kwargs)
        except Exception as error:  # noqa: BLE001 - the exception handler logs it and makes the response
            response = self.handle_exception(error)
        # It refers to this view: a cycle that each request would leave to the garbage collector.
        vars(api_request).pop("first_round_trip", None)
        for name, value in self.headers.items():
            response.headers[name] = value
        if self.recorded_for is not None:
            request_log.record(api_request, response, partner_id=self.recorded_for.partner_id, arrived_at=arrived_at)
        return faults.LostResponse() if self.fault is faults.Fault.LOST_ANSWER else response

    def handle_exception(self, exc: Exception) -> Any:
        """As DRF's; a refused signature of a sandbox key gets its diagnosis."""
        if isinstance(exc, SignatureRefusedError):
            self.recorded_for = refusals.diagnose(self.request, exc)
        return super().handle_exception(exc)

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> PartnerRequest:
        """DRF's request as a PartnerRequest."""
        api_request = PartnerRequest(
            request,
            parsers=self.get_parsers(),
            authenticators=self.get_authenticators(),
        )
        # DRF's contains the request: a cycle that each request would leave to the garbage collector.
        api_request.parser_context = {}
        return api_request

    def get_handler(self) -> Callable[..., HttpResponseBase]:
        """The view's method for the request's. Raises MethodNotAllowedError."""
        name = (self.request.method or "").lower()
        handler: Callable[..., HttpResponseBase] | None = (
            getattr(self, name, None) if name in self.http_method_names else None
        )
        if handler is None:
            allowed = ", ".join(name.upper() for name in self.http_method_names if hasattr(self, name))
            raise MethodNotAllowedError(allowed)
        return handler

    def get_query(self, partner_id: int, **kwargs: Any) -> Query[Any] | None:
        """The first query of a GET, if any; without side effects. kwargs: from the path. Raises BadRequestError."""
        return None

    @property
    def is_prefetched(self) -> bool:
        """Whether the query may be sent with the one for the API key (partners/authentication/first_round_trip.py)."""
        return True

    def get_rows(self) -> list[Any]:
        """The rows of the query. Raises BadRequestError and Django's database errors."""
        return self.request.first_round_trip.fetch(self.request.user.partner_id)

    @cached_property
    def paginator(self) -> KeysetPagination[Any]:
        """The page that the URL's query asks for. Raises BadRequestError unless that is UTF-8."""
        return self.pagination_class(self.request.parameters())

    def perform_authentication(self, request: Request) -> None:
        """Authenticate now; DRF's does so through `request.user`. Raises SignatureRefusedError."""
        authenticators: Any = request.authenticators
        for authenticator in authenticators:
            if result := authenticator.authenticate(request):
                request.user, request.auth = result
                break

    @property
    def renderer(self) -> JsonRenderer:
        """The renderer of all responses, errors included."""
        return self.renderer_classes[0]()

    @property
    def is_slow_write(self) -> bool:
        """Whether a simulated slowness begins under the lock of the Idempotency-Key."""
        return self.idempotency_key_use is KeyUse.HONOURED and faults.is_slow_write(self.fault, self.request)

    def write(self, effect: idempotency.Effect) -> HttpResponse:
        """The response to a write, which takes effect at most once."""
        if self.is_slow_write:
            effect = faults.slow_effect(effect)
        response = idempotency.perform(
            self.request,
            effect,
            refuse_signature_reuse=self.refuse_signature_reuse,
            key_use=self.idempotency_key_use,
        )
        if response.location is not None:
            self.headers["Location"] = response.location
        if response.replayed:
            self.headers["Idempotent-Replayed"] = "true"
        return JsonResponse(response.status, response.body)

    def read(self, data: object) -> HttpResponse:
        """The response to a read."""
        return JsonResponse(200, self.renderer.render(data))


class UnknownPath(PartnerAPIView):
    """404 for every other path under /v1, whatever the method and the caller."""

    def get_handler(self) -> Callable[..., HttpResponseBase]:
        """Raises NotFoundError."""
        raise NotFoundError("Path not found.")
