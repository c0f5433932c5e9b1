"""The way in and out of every request: its id, its log context, its one log line, and its count."""

import time
import uuid
from collections.abc import Callable

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation

from partners.observing import metrics
from partners.observing.facts import facts

log = structlog.get_logger("partners.request")

API_PREFIX = "/v1"


def is_api_path(path: str) -> bool:
    """Whether a request's path is the partners' interface."""
    return path.startswith(API_PREFIX + "/") or path == API_PREFIX


class RequestMiddleware:
    """Gives a request an id of our own, whatever came with it; logs one line when it is answered, and counts it.

    Both have the route's pattern, never the path: an identifier of a user is personal.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answers the request."""
        begun = time.perf_counter()
        request_id = str(uuid.uuid4())
        request.request_id = request_id  # type: ignore[attr-defined]
        facts.begin()
        structlog.contextvars.clear_contextvars()
        # The language of the request before, on this thread: partners are answered in English.
        translation.deactivate()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = self.get_response(request)
        response.headers["X-Request-Id"] = request_id
        if is_api_path(request.path_info):
            response.headers["Cache-Control"] = "no-store"
        _report(request, response, time.perf_counter() - begun)
        return response


def _report(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    method = metrics.known_method(request.method)
    route = request.resolver_match.route if request.resolver_match else None
    log.info(
        "request",
        partner=facts.partner,
        key=facts.key,
        method=method,
        route=route,
        status=response.status_code,
        milliseconds=round(seconds * 1000, 1),
        sql_statements=facts.statements,
        sql_milliseconds=round(facts.sql_seconds * 1000, 1),
    )
    is_replay = "Idempotent-Replayed" in response.headers
    metrics.count_request(
        facts, method=method, route=route, status=response.status_code, seconds=seconds, is_replay=is_replay
    )
