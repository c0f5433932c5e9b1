"""The base view of all endpoints under /v1 (contract, section 1).

The order of checks: path, method, size, authentication, rate limit, media type, idempotency, parameters, existence,
body, age, conflict. `dispatch` does those up to the media type, `write` idempotency, and the views the others.
"""

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from core.database import statements
from core.database.query import Query
from core.request_context import request_context
from partners.api import idempotency
from partners.api.errors import ApiError, MethodNotAllowedError, NotFoundError
from partners.api.idempotency import KeyUse, StoredResponse
from partners.api.json import JsonParser
from partners.api.pagination import LimitPagination
from partners.api.request import PartnerRequest
from partners.api.response import JsonRenderer, JsonResponse
from partners.api.sandbox import faults
from partners.api.sandbox.hooks import SandboxHooks
from partners.api.throttling import PartnerRateThrottle
from partners.authentication.signature_authentication import SignatureAuthentication, SignatureRefusedError

METHODS_WITH_BODY = frozenset({"POST", "PATCH"})


class PartnerAPIView(APIView):
    """A DRF view for signed requests.

    A view that reads has `get_query` and a `get` that shows `get_rows()`. A view that writes names its serializers and
    the status of its success, and has `perform`; its `post`, `patch` or `delete` returns `self.write()`.
    """

    authentication_classes = (SignatureAuthentication,)
    throttle_classes = (PartnerRateThrottle,)
    parser_classes = (JsonParser,)
    renderer_classes = (JsonRenderer,)
    # Views that read `paginator` declare it.
    pagination_class: ClassVar[type[LimitPagination]]
    # HEAD and OPTIONS are not allowed unless a view has them.
    http_method_names = ["get", "post", "patch"]  # noqa: RUF012 - Django's own declaration

    # These are for the body of a write and for its response.
    serializer_class: ClassVar[type[BaseSerializer[Any]]]
    response_serializer_class: ClassVar[type[BaseSerializer[Any]]]
    success_status: ClassVar[int] = 200
    # Writes, in an open transaction that any exception rolls back, and returns what `response_serializer_class` shows.
    # Called with what the path has, and again where PostgreSQL rolled the transaction back.
    perform: Callable[..., Any]

    request: PartnerRequest
    sandbox: SandboxHooks
    # Whether a write without an Idempotency-Key takes effect once for its signature. A repeated POST is a conflict.
    refuse_signature_reuse = False
    idempotency_key_use = KeyUse.HONOURED
    # Whether a sandbox partner finds requests for this path among those that it sent (contract, section 11).
    is_recorded = True

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """As Django's, without `self.head`, a reference cycle."""
        self.request, self.args, self.kwargs = self.initialize_request(request), args, kwargs
        self.sandbox, self.headers = SandboxHooks(self.request), {}

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Check and handle a request; in place of DRF's for the contract's order of checks."""
        try:
            handler = self.get_handler()
            self.request.read_body()
            # All statements have it together: a response is due within five seconds.
            request_context.deadline = time.monotonic() + settings.DATABASES[DEFAULT_DB_ALIAS]["RESPONSE_SECONDS"]
            self.perform_authentication(self.request)
            # This differs from DRF's order: a refused request is counted too.
            self.check_throttles(self.request)
            self.check_permissions(self.request)
            self.sandbox.before(waits_in_transaction=self.is_under_key)
            self.check_content()
            with self.sandbox.around():
                response: HttpResponseBase = handler(self.request, **kwargs)
        except Exception as error:  # noqa: BLE001 - the exception handler logs it and makes the response
            response = self.handle_exception(error)
        for name, value in self.headers.items():
            response.headers[name] = value
        response = self.sandbox.after(response, is_recorded=self.is_recorded)
        request_context.deadline = None
        return response

    def handle_exception(self, exc: Exception) -> Any:
        """As DRF's; a refused signature of a sandbox key gets its diagnosis."""
        if isinstance(exc, SignatureRefusedError):
            self.sandbox.refused(exc)
            self.is_recorded = True
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

    def perform_authentication(self, request: Request) -> None:
        """Authenticate now; DRF's does so through `request.user`. Raises SignatureRefusedError."""
        if request.method == "GET":
            self.request.get_query = self._query_ahead
        authenticators: Any = request.authenticators
        for authenticator in authenticators:
            if result := authenticator.authenticate(request):
                request.user, request.auth = result
                self.sandbox.authenticated(self.request.user)
                break
        # It refers to this view: a cycle that each request would leave to the garbage collector.
        self.request.get_query = None

    def _query_ahead(self, partner_id: int) -> Query[Any] | None:
        try:
            return self.get_query(partner_id, **self.kwargs)
        except ApiError:
            # `get_rows` raises it, in the order of checks.
            return None

    def check_content(self) -> None:
        """Refuse a body of another media type, and a key where none is allowed. Raises ApiError."""
        if self.request.method not in METHODS_WITH_BODY:
            return
        self.request.parser  # noqa: B018 - raises UnsupportedMediaTypeError
        if self.idempotency_key_use is KeyUse.REFUSED:
            idempotency.refuse_key(self.request)

    @property
    def renderer(self) -> JsonRenderer:
        """The renderer of all responses, errors included."""
        return self.renderer_classes[0]()

    # --- Reads ---

    def get_query(self, partner_id: int, **kwargs: Any) -> Query[Any] | None:
        """The first query; None without one. kwargs: from the path. Raises ApiError for invalid parameters.

        A GET's only reads, as it may be sent with the one for the API key. A write's is sent in its transaction: a
        lock, or a create's INSERT.
        """
        return None

    def get_rows(self) -> list[Any]:
        """The rows of the query, sent now if it was not before. Raises ApiError and Django's database errors."""
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
        return JsonResponse(200, self.renderer.render(data))

    # --- Writes ---

    def validated(self, instance: object = None, *, partial: bool = False) -> Any:
        """The serializer of the valid body: of an update with its instance. Raises ApiError."""
        serializer = self.serializer_class(instance, data=self.request.data, partial=partial)
        serializer.is_valid(raise_exception=True)
        return serializer

    def get_location(self, result: Any) -> str | None:
        """The Location of what `perform` has made, if it has one."""
        return None

    @property
    def is_under_key(self) -> bool:
        """Whether the request is a write under an Idempotency-Key, whose lock a look-up waits for."""
        is_honoured = self.request.method != "GET" and self.idempotency_key_use is KeyUse.HONOURED
        return is_honoured and self.request.header("HTTP_IDEMPOTENCY_KEY") is not None

    def write(self) -> HttpResponse:
        """The response to a write, which takes effect at most once."""
        is_slow = self.sandbox.fault is faults.Fault.SLOW and self.is_under_key
        # A simulated slow write holds no lock but its key's.
        query = None if is_slow else self.get_query(self.request.user.partner_id, **self.kwargs)
        has_waited = not is_slow

        def effect(rows: list[Any] | None) -> StoredResponse:
            nonlocal has_waited
            if not has_waited:
                has_waited = True
                faults.wait(self.request.user.partner_id)
            self.request.rows = rows
            result = self.perform(**self.kwargs)
            body = self.renderer.render(self.response_serializer_class(result).data)
            return StoredResponse(self.success_status, body, self.get_location(result))

        response = idempotency.perform(
            self.request,
            effect,
            query=query,
            refuse_signature_reuse=self.refuse_signature_reuse,
            key_use=self.idempotency_key_use,
        )
        if response.location is not None:
            self.headers["Location"] = response.location
        if response.replayed:
            self.headers["Idempotent-Replayed"] = "true"
        return JsonResponse(response.status, response.body)


class UnknownPath(PartnerAPIView):
    """404 for every other path under /v1, whatever the method and the caller."""

    def get_handler(self) -> Callable[..., HttpResponseBase]:
        """Raises NotFoundError."""
        raise NotFoundError("Path not found.")
