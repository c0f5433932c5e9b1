"""The middleware that handles requests for the docs."""

from collections.abc import Callable
from typing import Any, cast

from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import get_resolver
from django.utils.cache import get_conditional_response, set_response_etag

_PATHS = ("/docs", "/llms.txt", "/favicon.ico")


class DocsMiddleware:
    """Handles requests for the docs, so that the staff's middlewares after it (sessions, for example) do not run.

    Caches may keep what a view says; this has an ETag, and a 304 if the reader has it already. Sets Content-Length:
    without it the server sends a response in chunks, and a HEAD without a length.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        # If a view fails, Django's error response gets the headers too.
        self._respond = convert_exception_to_response(_respond)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Handles the request."""
        if request.path_info not in _PATHS and not request.path_info.startswith("/docs/"):
            return self.get_response(request)
        response: Any = self._respond(request)
        if isinstance(response, HttpResponse):
            response["Content-Length"] = str(len(response.content))
        response.headers.setdefault("Cache-Control", "no-store")
        if response["Cache-Control"] != "no-store":
            set_response_etag(response)
            response = get_conditional_response(request, etag=response["ETag"], response=response)
        return cast("HttpResponseBase", response)


def _respond(request: HttpRequest) -> HttpResponseBase:
    match = request.resolver_match = get_resolver().resolve(request.path_info)
    response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return response
