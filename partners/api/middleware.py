"""The way in and out of every request: its id, its log context, and its one log line."""

import time
import uuid
from collections.abc import Callable

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation

log = structlog.get_logger("partners.request")

API_PREFIX = "/v1"


def is_api_path(path: str) -> bool:
    """Whether a request's path is the partners' interface."""
    return path.startswith(API_PREFIX + "/") or path == API_PREFIX


class RequestMiddleware:
    """Gives a request an id of our own, whatever came with it, and logs one line when it is answered.

    The line holds the route's pattern, never the path: an identifier of a user is personal.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answers the request."""
        begun = time.perf_counter()
        request_id = str(uuid.uuid4())
        request.request_id = request_id  # type: ignore[attr-defined]
        structlog.contextvars.clear_contextvars()
        # The language of the request before, on this thread: partners are answered in English.
        translation.deactivate()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = self.get_response(request)
        response.headers["X-Request-Id"] = request_id
        if is_api_path(request.path_info):
            response.headers["Cache-Control"] = "no-store"
        match = request.resolver_match
        log.info(
            "request",
            method=request.method,
            route=match.route if match else None,
            status=response.status_code,
            milliseconds=round((time.perf_counter() - begun) * 1000, 1),
        )
        return response
