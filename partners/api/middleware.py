"""What every request passes first: its id, its one log line, its count; and the way to the views under /v1."""

import random
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import get_resolver
from django.utils import translation

from partners.api.errors import InternalError
from partners.api.json import JsonRenderer
from partners.api.response import json_response
from partners.monitoring import metrics
from partners.monitoring.request_context import request_context

log = structlog.get_logger("partners.request")

API_PREFIX = "/v1"


def is_api_path(path: str) -> bool:
    """Whether a request's path is the partners' interface."""
    return path.startswith(API_PREFIX + "/") or path == API_PREFIX


class _Thread(threading.local):
    # Whether it has answered with a page, which may have been in another language.
    has_spoken = True


_thread = _Thread()


class RequestMiddleware:
    """Gives a request an id of our own, whatever came with it; logs one line when it is answered, and counts it.

    Both have the route's pattern, never the path: an identifier of a user is personal.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answers the request."""
        begun = time.perf_counter()
        # It guards nothing; to ask the kernel for randomness would let go of the interpreter.
        request_id = str(uuid.UUID(int=random.getrandbits(128), version=4))
        request.request_id = request_id  # type: ignore[attr-defined]
        request_context.begin(request_id)
        # The language of the page before, on this thread: partners are answered in English.
        if _thread.has_spoken:
            translation.deactivate()
        is_api = is_api_path(request.path_info)
        _thread.has_spoken = not is_api
        response = self.get_response(request)
        response.headers["X-Request-Id"] = request_id
        if is_api:
            response.headers["Cache-Control"] = "no-store"
        try:
            _report(request, response, time.perf_counter() - begun)
        except Exception:
            # The request has taken effect: its answer does not change, not even where it is logging that fails.
            with suppress(Exception):
                log.exception("a request could not be reported")
        return response


class ApiMiddleware:
    """Answers what is under /v1. The middlewares behind it in settings.MIDDLEWARE are for pages.

    Sessions, CSRF and messages would cost a partner's request more than its own work, and have no meaning there.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answers the request."""
        if not is_api_path(request.path_info):
            return self.get_response(request)
        try:
            # As Django's resolver, which takes three times as long. Every path leads to a view, UnknownPath at last.
            patterns, path = get_resolver().url_patterns, request.path_info[1:]
            match = request.resolver_match = next(match for url in patterns if (match := url.resolve(path)))
            response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        except Exception:
            # Django would answer with a page.
            with suppress(Exception):
                log.exception("request failed outside its view", status=InternalError.status_code)
            body = InternalError().body() | {"requestId": getattr(request, "request_id", "")}
            return json_response(InternalError.status_code, JsonRenderer().render(body))
        return response


def _report(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    method = metrics.known_method(request.method)
    route = request.resolver_match.route if request.resolver_match else None
    log.info(
        "request",
        partner=request_context.partner,
        key=request_context.key,
        method=method,
        route=route,
        status=response.status_code,
        milliseconds=round(seconds * 1000, 1),
        sql_statements=request_context.statements,
        sql_milliseconds=round(request_context.sql_seconds * 1000, 1),
    )
    is_replay = "Idempotent-Replayed" in response.headers
    metrics.count_request(
        request_context, method=method, route=route, status=response.status_code, seconds=seconds, is_replay=is_replay
    )
