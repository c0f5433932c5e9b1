"""How the docs are reached, and what each of their answers has."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, cast

from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import get_resolver

from partners.docs.responses import PRIVATE
from partners.docs.views import is_docs_path


class DocsMiddleware:
    """Answers what is under the docs, with a length and a rule for caches; the middlewares behind it are for staff.

    Without a length the server would send an answer in chunks, and a HEAD would not tell how long it is.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        # A view that fails is answered by Django's page for it, which then passes here too.
        self._answer = convert_exception_to_response(_answer)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answers the request."""
        if not is_docs_path(request.path_info):
            return self.get_response(request)
        answer: Any = self._answer(request)
        answer.headers.setdefault("Cache-Control", PRIVATE)
        if isinstance(answer, HttpResponse) and answer.status_code != HTTPStatus.NOT_MODIFIED:
            answer.headers["Content-Length"] = str(len(answer.content))
        return cast("HttpResponseBase", answer)


def _answer(request: HttpRequest) -> HttpResponseBase:
    match = request.resolver_match = get_resolver().resolve(request.path_info)
    answer: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return answer
