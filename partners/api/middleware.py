"""The middlewares of all requests: request id, log line and metrics; and the URL resolver for /v1."""

import random
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import get_resolver, resolve
from django.utils import translation

from core.request_context import request_context
from partners.api.errors import InternalError
from partners.api.response import JsonResponse, encode
from partners.models import KEY_PREFIXES, Mode
from partners.monitoring import metrics

log = structlog.get_logger("partners.request")

API_PREFIX = "/v1"
MONITORING_PATHS = frozenset({"/livez", "/readyz", "/metrics"})


def is_api_path(path: str) -> bool:
    """Whether the path is under /v1."""
    return path.startswith(API_PREFIX + "/") or path == API_PREFIX


class _Language(threading.local):
    # Whether the thread's last response was a page, which may have activated another language.
    may_be_active = True


_language = _Language()


class MonitoringMiddleware:
    """Responds to /livez, /readyz and /metrics first: without a log line, check of the host name, redirect, session."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Handle a request for one of these paths; pass on all others."""
        if request.path_info not in MONITORING_PATHS:
            return self.get_response(request)
        request_context.begin(None)
        response: HttpResponseBase = resolve(request.path_info).func(request)
        response.headers["Cache-Control"] = "no-store"
        return response


class RequestMiddleware:
    """Sets the request's id, ignoring the caller's; logs and counts the response."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Handle a request."""
        begun = time.perf_counter()
        # The id is no secret; a system call for randomness would release the GIL.
        request_id = str(uuid.UUID(int=random.getrandbits(128), version=4))
        request.request_id = request_id  # type: ignore[attr-defined]
        request_context.begin(request_id)
        # Partners get English.
        if _language.may_be_active:
            translation.deactivate()
        is_api = is_api_path(request.path_info)
        _language.may_be_active = not is_api
        response = self.get_response(request)
        response.headers["X-Request-Id"] = request_id
        if is_api:
            response.headers["Cache-Control"] = "no-store"
        try:
            _log_and_count(request, response, time.perf_counter() - begun)
        except Exception:
            # The request has taken effect: its response stays, even if logging fails too.
            with suppress(Exception):
                log.exception("request could not be logged")
        return response


class ApiMiddleware:
    """Handles requests under /v1 before the middlewares for pages (sessions, CSRF, messages), which cost more."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Handle a request under /v1; pass on all others."""
        if not is_api_path(request.path_info):
            return self.get_response(request)
        try:
            # This does what Django's resolver does, in a third of the time. UnknownPath is the last pattern.
            patterns, path = get_resolver().url_patterns, request.path_info[1:]
            match = request.resolver_match = next(match for url in patterns if (match := url.resolve(path)))
            view: Any = match.func
            if request.META.get("HTTP_X_API_KEY", "").startswith(KEY_PREFIXES[Mode.SANDBOX]):
                view = view.in_sandbox  # config/urls.py
            response: HttpResponseBase = view(request, *match.args, **match.kwargs)
        except Exception:
            # Django's response would be a page.
            with suppress(Exception):
                log.exception("request failed outside its view", status=InternalError.status_code)
            return JsonResponse(InternalError.status_code, encode(InternalError().body()))
        return response


def _log_and_count(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    method = metrics.known_method(request.method)
    # Never the path, which can contain personal data.
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
        **({"cause": request_context.refusal} if request_context.refusal else {}),
    )
    is_replay = "Idempotent-Replayed" in response.headers
    metrics.count_request(
        request_context, method=method, route=route, status=response.status_code, seconds=seconds, is_replay=is_replay
    )
