"""What every endpoint under /v1 shares: the order of checks, and how answers look (contract, section 1).

path → method → size → authentication → rate limit → media type → idempotency → parameters →
existence → body → age → conflict. `dispatch` runs the checks up to the media type, the views the others.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.views import APIView

from partners.api import idempotency
from partners.api.errors import BadRequestError, MethodNotAllowedError, NotFoundError
from partners.api.json import JsonParser, JsonRenderer
from partners.api.request import JsonNegotiation, PartnerRequest
from partners.api.response import json_response
from partners.api.throttling import PartnerRateThrottle
from partners.authentication import keys
from partners.authentication.signature_authentication import SignatureAuthentication
from partners.db import statements
from partners.db.statements import Query
from partners.usage import recording
from partners.usage.failures import UNAUTHORIZED

log = structlog.get_logger("partners.api.views")

METHODS_WITH_BODY = frozenset({"POST", "PATCH"})


class PartnerAPIView(APIView):
    """An endpoint for partners. A subclass names its methods and says what each does in a few lines.

    DRF's attributes mean what they mean in DRF; partners/api/checks.py refuses those that are not used here.
    """

    authentication_classes = (SignatureAuthentication,)
    throttle_classes = (PartnerRateThrottle,)
    parser_classes = (JsonParser,)
    renderer_classes = (JsonRenderer,)
    content_negotiation_class = JsonNegotiation
    # HEAD and OPTIONS are methods like any other: not allowed unless a view has them.
    http_method_names = ["get", "post", "patch"]  # noqa: RUF012 - Django's own declaration

    request: PartnerRequest
    is_authenticated = False

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """As Django's, but without `self.head`, a cycle that only the garbage collector could free."""
        self.request, self.args, self.kwargs = self.initialize_request(request), args, kwargs

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answers a request, an unexpected failure included, in the form of the contract.

        In place of DRF's own for the contract's order of checks: method and size come before authentication.
        """
        api_request, self.headers = self.request, {}
        try:
            handler = self.get_handler()
            api_request.read_body()
            if request.method == "GET":
                api_request.read_ahead = self.get_read_ahead(api_request)
            self.perform_authentication(api_request)
            self.check_permissions(api_request)
            self.check_throttles(api_request)
            if request.method in METHODS_WITH_BODY:
                api_request.parser  # noqa: B018 - raises UnsupportedMediaTypeError
            response: HttpResponseBase = handler(api_request, **kwargs)
        except Exception as failure:  # noqa: BLE001 - answered, and logged, by the exception handler
            response = self.handle_exception(failure)
        for name, value in self.headers.items():
            response.headers[name] = value
        self.record_usage(response)
        return response

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> PartnerRequest:
        """DRF's request, with what is signed."""
        api_request = PartnerRequest(
            request,
            parsers=self.get_parsers(),
            authenticators=self.get_authenticators(),
            negotiator=self.get_content_negotiator(),
        )
        # DRF puts the request into it: a cycle, which each request would leave to the garbage collector.
        api_request.parser_context = {}
        return api_request

    def get_handler(self) -> Callable[..., HttpResponseBase]:
        """The method for the request's own. Raises MethodNotAllowedError."""
        name = (self.request.method or "").lower()
        handler: Callable[..., HttpResponseBase] | None = (
            getattr(self, name, None) if name in self.http_method_names else None
        )
        if handler is None:
            raise MethodNotAllowedError([m.upper() for m in self.http_method_names if hasattr(self, m)])
        return handler

    def get_query(self, partner_id: int, **kwargs: Any) -> Query[Any] | None:
        """The query that a GET begins with, if any. kwargs: the path's.

        Raises BadRequestError where path or parameters are not valid.
        """
        return None

    def get_read_ahead(self, request: PartnerRequest) -> Query[Any] | None:
        """The query, to be sent together with the one for the API key, which saves a round trip.

        For the partner that the key was found to be of in an earlier request.
        """
        with suppress(BadRequestError):  # raised again by get_rows, where its turn is
            return self.get_query(keys.last_caller(request.key_digest).partner_id, **self.kwargs)
        return None

    def get_rows(self) -> list[Any]:
        """The rows of the query, read now if not ahead. Raises BadRequestError and Django's database errors."""
        if self.request.rows_ahead is not None:
            return self.request.rows_ahead
        query = self.get_query(self.request.user.partner_id, **self.kwargs)
        return self.fetch(query) if query else []

    def fetch(self, query: Query[Any]) -> list[Any]:
        """Reads the rows of the query. Raises Django's database errors."""
        return statements.fetch(query)

    def perform_authentication(self, request: Request) -> None:
        """Authenticates at once, where DRF's own asks for `request.user`. Raises UnauthorizedError."""
        authenticators: Any = request.authenticators
        for authenticator in authenticators:
            if found := authenticator.authenticate(request):
                request.user, request.auth = found
                break
        self.is_authenticated = True

    @property
    def renderer(self) -> JsonRenderer:
        """What answers are written with, errors included."""
        return self.renderer_classes[0]()

    def write(self, effect: idempotency.Effect) -> HttpResponse:
        """Lets a write take effect at most once and answers it."""
        answer = idempotency.perform(self.request, effect)
        if answer.location is not None:
            self.headers["Location"] = answer.location
        if answer.replayed:
            self.headers["Idempotent-Replayed"] = "true"
        return json_response(answer.status, answer.body)

    def read(self, data: object) -> HttpResponse:
        """Answers a read."""
        return json_response(200, self.renderer.render(data))

    def record_usage(self, response: HttpResponseBase) -> None:
        """Counts the answer, but a 401: authentication counts that with its cause."""
        if not self.is_authenticated or response.status_code == UNAUTHORIZED:
            return
        try:
            recording.record_answer(
                self.request.key_digest,
                response.status_code,
                replayed="Idempotent-Replayed" in self.headers,
                skew_seconds=self.request.auth.skew_seconds,
            )
        except Exception:
            # The request has taken effect: its answer does not change, not even where it is logging that fails.
            with suppress(Exception):
                log.exception("an answer could not be counted")


class UnknownPath(PartnerAPIView):
    """Every path under /v1 that leads nowhere: 404, whatever the method and the caller."""

    def get_handler(self) -> Callable[..., HttpResponseBase]:
        """Raises NotFoundError."""
        raise NotFoundError("There is no such path.")
