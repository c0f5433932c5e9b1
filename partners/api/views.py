"""What every endpoint under /v1 shares: the order of checks, and how answers look (contract, section 1).

path → method → size → authentication → rate limit → media type → idempotency → parameters →
existence → body → age → conflict. The first four and a half stand here; the rest is the gate's
(partners/api/idempotency.py) and the views'.
"""

from collections.abc import Callable, Mapping
from typing import Any

import structlog
from rest_framework.views import APIView

from partners import sql, traffic, troubles
from partners.api import idempotency, throttling
from partners.api.authentication import SignatureAuthentication
from partners.api.errors import (
    ApiError,
    InternalError,
    MethodNotAllowedError,
    NotFoundError,
    UnauthorizedError,
    UnavailableError,
)
from partners.api.json import render
from partners.api.request import Received, ServiceRequest, has_body, receive, require_json
from partners.api.response import JsonResponse, Response, json_response
from partners.api.sender import Sender
from partners.keys import Caller
from partners.observing.facts import facts

log = structlog.get_logger("partners.views")

READ_ONLY = "25006"  # PostgreSQL's read_only_sql_transaction
METHODS_WITH_BODY = frozenset({"POST", "PATCH"})


_authentication = SignatureAuthentication()


class PartnerAPIView(APIView):
    """An endpoint for partners. A subclass names its methods and says what each does in a few lines."""

    # HEAD and OPTIONS are methods like any other: not allowed unless a view has them.
    http_method_names = ["get", "post", "patch"]  # noqa: RUF012 - Django's own declaration

    received: Received
    sender: Sender
    # By how much the sender's clock is ahead of ours.
    skew_seconds: float
    request_id: str
    answer_headers: dict[str, str]

    def dispatch(self, request: ServiceRequest, *args: Any, **kwargs: Any) -> Response:  # type: ignore[override]
        """Answers a request, an unexpected failure included, in the form of the contract."""
        self.answer_headers = {}
        self.request_id = request.request_id
        try:
            response = self.answer(request, **kwargs)
        except ApiError as error:
            if not hasattr(self, "received") and has_body(request):
                # What was not read is still to come: the connection cannot carry another request.
                self.answer_headers["Connection"] = "close"
            response = self.error(error)
        except Exception as failure:  # noqa: BLE001 - a crash is answered in the contract's form too
            # A database only reads during a failover.
            is_unavailable = sql.is_unreachable(failure) or sql.sqlstate(failure) == READ_ONLY
            response = self.failure(UnavailableError() if is_unavailable else InternalError(), failure)
        self.count(response.status_code)
        return response

    def answer(self, request: ServiceRequest, **kwargs: Any) -> Response:
        """Runs the checks that every request passes, in the contract's order, then the method's handler."""
        handler = self.handler(request)
        self.received = request.received = receive(request)
        self.sender, self.skew_seconds = _authentication.authenticate(request)
        self.sender.begin(self.admit)
        if throttling.is_used_up(self.sender.caller):
            self.sender.confirmed()
        try:
            response = self.respond(handler, request, **kwargs)
        except UnauthorizedError:
            raise
        except Exception as failure:
            # Whose key is not in force is told that and nothing else, whatever else there is to tell.
            if not self.sender.confirmed_after(failure):
                raise
            response = self.respond(handler, request, **kwargs)
        self.sender.confirmed()
        return response

    def respond(self, handler: Callable[..., Response], request: ServiceRequest, **kwargs: Any) -> Response:
        """The checks from the media type on, and what the method's handler answers."""
        if request.method in METHODS_WITH_BODY:
            require_json(self.received)
        return handler(request, **kwargs)

    def admit(self) -> None:
        """Counts the request of a caller who may call. Raises TooManyRequestsError."""
        throttling.count(self.sender.caller, self.answer_headers)

    @property
    def caller(self) -> Caller:
        """Who asks; the database has said in this request that they may. Raises UnauthorizedError."""
        return self.sender.confirmed()

    def count(self, status: int) -> None:
        """Counts the answer for the partner's report; refusals are counted with their cause, where they are raised."""
        if hasattr(self, "sender") and self.sender.is_confirmed and status != troubles.UNAUTHORIZED:
            replayed = "Idempotent-Replayed" in self.answer_headers
            traffic.count(self.sender.caller.key_id, status, replayed=replayed, skew_seconds=self.skew_seconds)

    def handler(self, request: ServiceRequest) -> Callable[..., Response]:
        """The function for the request's method. Raises MethodNotAllowedError."""
        name = (request.method or "").lower()
        handler = getattr(self, name, None) if name in self.http_method_names else None
        if handler is None:
            raise MethodNotAllowedError([m.upper() for m in self.http_method_names if hasattr(self, m)])
        found: Callable[..., Response] = handler
        return found

    def write(self, effect: idempotency.Effect) -> JsonResponse:
        """Lets a write take effect at most once and answers it."""
        answer = idempotency.perform(self.received, self.sender, effect, request_id=self.request_id)
        if answer.location is not None:
            self.answer_headers["Location"] = answer.location
        if answer.replayed:
            self.answer_headers["Idempotent-Replayed"] = "true"
        return self.json(answer.status, answer.body)

    def read(self, data: object) -> JsonResponse:
        """Answers a read with data that orjson can write."""
        return self.json(200, render(data))

    def json(self, status: int, body: bytes, headers: Mapping[str, str] = {}) -> JsonResponse:
        """An answer with a JSON body."""
        return json_response(status, body, {**self.answer_headers, **headers})

    def error(self, error: ApiError) -> JsonResponse:
        """The error's JSON, with the id that X-Request-Id gives too."""
        return self.json(error.status_code, render(error.body() | {"requestId": self.request_id}), error.headers)

    def failure(self, error: ApiError, failure: Exception) -> JsonResponse:
        """The answer to an unexpected failure; its cause goes to the log alone."""
        log.error("request failed", status=error.status_code, sqlstate=sql.sqlstate(failure), exc_info=failure)
        return self.error(error)


def answering_crashes(respond: Callable[[ServiceRequest], Response]) -> Callable[[ServiceRequest], Response]:
    """Answers in the contract's form where what is around the views fails: counting, logging, a middleware."""

    def answer(request: ServiceRequest) -> Response:
        try:
            return respond(request)
        except Exception:
            log.exception("request failed outside its view", status=InternalError.status_code)
            request_id = facts.request_id or ""
            body = render(InternalError().body() | {"requestId": request_id})
            headers = {"X-Request-Id": request_id, "Cache-Control": "no-store"}
            return json_response(InternalError.status_code, body, headers)

    return answer


class UnknownPath(PartnerAPIView):
    """Every path under /v1 that leads nowhere: 404, whatever the method and whoever asks."""

    def answer(self, request: ServiceRequest, **kwargs: Any) -> Response:
        """Raises NotFoundError."""
        raise NotFoundError("There is no such path.")
