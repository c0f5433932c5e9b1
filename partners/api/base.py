"""The base view of all endpoints under /v1 (contract, section 1).

The order of checks: path, method, size, authentication, rate limit, media type, idempotency, parameters, existence,
body, age, conflict. `dispatch` does those up to the media type, a view's method the others, in this order.
"""

import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from core.database import statements
from core.database.pipeline import Query
from core.formats import is_uuid
from core.request_context import request_context
from partners.api import idempotency
from partners.api.errors import ApiError, MethodNotAllowedError, NotFoundError, invalid_parameter
from partners.api.idempotency import KeyClaim, KeyUse
from partners.api.lists import LimitPagination
from partners.api.request import PartnerRequest
from partners.api.response import JsonResponse, encode
from partners.api.throttling import PartnerRateThrottle
from partners.authentication.signature_authentication import SignatureAuthentication

KEY_NOT_FOUND = "No write under this key has taken effect, and none is under way."
METHODS_WITH_BODY = frozenset({"POST", "PATCH"})

Handler = Callable[..., HttpResponseBase]


class PartnerAPIView(APIView):
    """A DRF view for signed requests.

    A `get` may have `get_query`, and shows `get_rows()`. A method that writes does so in `with self.once() as claim`,
    without effects outside the database: it is called again where PostgreSQL rolled the transaction back.
    """

    authentication_classes = (SignatureAuthentication,)
    throttle_classes = (PartnerRateThrottle,)
    # Views that read `paginator` declare it.
    pagination_class: ClassVar[type[LimitPagination]]
    # Of the body; views that call `validated` declare it.
    serializer_class: ClassVar[type[BaseSerializer[Any]]]
    # HEAD and OPTIONS are not allowed unless a view has them.
    http_method_names = ["get", "post", "patch"]  # noqa: RUF012 - Django's own declaration

    request: PartnerRequest
    # Whether a write without an Idempotency-Key takes effect once for its signature. A repeated POST is a conflict.
    refuse_signature_reuse = False
    idempotency_key_use = KeyUse.HONOURED

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """As Django's, without `self.head`, a reference cycle."""
        self.request, self.args, self.kwargs = self.initialize_request(request), args, kwargs
        self.headers = {}

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Check and handle a request; in place of DRF's for the contract's order of checks."""
        try:
            handler = self.get_handler()
            self.request.read_body()
            # All statements have it together: a response is due within five seconds.
            request_context.deadline = time.monotonic() + settings.DATABASES[DEFAULT_DB_ALIAS]["RESPONSE_SECONDS"]
            self.initial(self.request)
            self.check_content()
            response = self.handle(handler)
        except Exception as error:  # noqa: BLE001 - the exception handler logs it and makes the response
            response = self.handle_exception(error)
        finished: HttpResponseBase = self.finalize_response(self.request, response)
        request_context.deadline = None
        return finished

    def get_handler(self) -> Handler:
        """The view's method for the request's. Raises MethodNotAllowedError."""
        name = (self.request.method or "").lower()
        handler: Handler | None = getattr(self, name, None) if name in self.http_method_names else None
        if handler is None:
            allowed = ", ".join(name.upper() for name in self.http_method_names if hasattr(self, name))
            raise MethodNotAllowedError(allowed)
        return handler

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate, then count the request, also one that is then refused; DRF's has another order."""
        self.perform_authentication(request)
        self.check_throttles(request)
        self.check_permissions(request)

    def perform_authentication(self, request: Request) -> None:
        """Authenticate now; DRF's does so through `request.user`. Raises SignatureRefusedError."""
        if request.method == "GET":
            self.request.get_query = self.first_query
        authenticators: Any = request.authenticators
        for authenticator in authenticators:
            request.user, request.auth = authenticator.authenticate(request)
        # It refers to this view: a cycle that each request would leave to the garbage collector.
        self.request.get_query = None

    def check_content(self) -> None:
        """Refuse a body of another media type, and a key where none is allowed. Raises ApiError."""
        if self.request.method not in METHODS_WITH_BODY:
            return
        self.request.require_json()
        if self.idempotency_key_use is KeyUse.REFUSED and self.request.header("HTTP_IDEMPOTENCY_KEY") is not None:
            raise invalid_parameter(idempotency.HEADER, idempotency.NOT_STORED, "notAllowed")

    def handle(self, handler: Handler) -> HttpResponseBase:
        """The response of a method; called again where PostgreSQL rolled back, for example for a deadlock."""
        begun = time.monotonic()
        for pause in statements.RETRY_PAUSES_SECONDS:
            try:
                return handler(self.request, **self.kwargs)
            except DatabaseError as error:
                if not statements.may_retry(error, begun=begun):
                    raise
            # It is random, so that two transactions do not collide again.
            time.sleep(random.uniform(0, pause))  # noqa: S311 - nothing secret
        return handler(self.request, **self.kwargs)

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Set the headers of every response, those of the rate limit."""
        for name, value in self.headers.items():
            response.headers[name] = value
        return response

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> PartnerRequest:
        """DRF's request as a PartnerRequest."""
        api_request = PartnerRequest(request, authenticators=self.get_authenticators())
        # DRF's contains the request: a cycle that each request would leave to the garbage collector.
        api_request.parser_context = {}
        return api_request

    # --- Reads ---

    def get_query(self, partner_id: int, **kwargs: Any) -> Query[Any] | None:
        """The only query of a GET; None without one. kwargs: from the path. Raises ApiError for invalid parameters."""
        return None

    def first_query(self, partner_id: int) -> Query[Any] | None:
        """The query, to be sent with the one for the API key; none for invalid parameters, which `get_rows` refuses."""
        with suppress(ApiError):
            return self.get_query(partner_id, **self.kwargs)
        return None

    def get_rows(self) -> list[Any]:
        """The rows of the query, sent now if it was not before. Raises ApiError, Django's database errors."""
        if self.request.rows is None:
            query = self.get_query(self.request.user.partner_id, **self.kwargs)
            self.request.rows = statements.fetch(query) if query else []
        return self.request.rows

    @cached_property
    def paginator(self) -> LimitPagination:
        """The page that the URL's query asks for. Raises BadRequestError unless that is UTF-8."""
        return self.pagination_class(self.request.parameters())

    def read(self, data: object) -> HttpResponse:
        """The response to a read."""
        return JsonResponse(200, encode(data))

    # --- Writes ---

    def once(self) -> AbstractContextManager[KeyClaim]:
        """The transaction of a write, which takes effect at most once."""
        return idempotency.once(
            self.request, key_use=self.idempotency_key_use, refuse_signature_reuse=self.refuse_signature_reuse
        )

    def validated(self) -> dict[str, Any]:
        """The values of the valid body. Raises BadRequestError, DRF's ValidationError."""
        serializer = self.serializer_class(data=self.request.data)
        serializer.is_valid(raise_exception=True)
        values: dict[str, Any] = serializer.validated_data
        return values


class UnknownPath(PartnerAPIView):
    """404 for every other path under /v1, whatever the method and the caller."""

    def get_handler(self) -> Handler:
        """Raises NotFoundError."""
        raise NotFoundError("Path not found.")


class Ping(PartnerAPIView):
    """GET /v1/ping: contract, section 9."""

    def get(self, request: PartnerRequest) -> HttpResponse:
        """Who called, and the server's time."""
        partner, mode = request.user.partner_slug, request.user.mode.value
        return self.read({"partner": partner, "mode": mode, "serverTime": datetime.now(UTC)})


class IdempotencyKeyItem(PartnerAPIView):
    """GET /v1/idempotency-keys/{idempotencyKey}: contract, section 12."""

    def get(self, request: PartnerRequest, idempotency_key: str) -> HttpResponse:
        """What is known of a write. Raises BadRequestError, NotFoundError."""
        if not is_uuid(idempotency_key):
            raise invalid_parameter("idempotencyKey", idempotency.NOT_A_UUID)
        key = idempotency_key.lower()
        write = idempotency.find_write(request.user.partner_id, key)
        if write is None:
            raise NotFoundError(KEY_NOT_FOUND)
        return self.read({"idempotencyKey": key, **write})
