"""The way in from WSGI (PEP 3333) for partners and for who reads the docs, in place of Django's."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from http.client import responses
from typing import Any

from django.http import Http404, HttpRequest
from django.urls import get_resolver
from django.utils.module_loading import import_string

from partners import sql
from partners.api.response import JsonResponse, Response
from partners.observing.facts import facts


class LeanHandler:
    """A WSGI application with a short list of middlewares in place of MIDDLEWARE.

    Those that staff pages need (sessions, CSRF, messages) would cost a partner's request more than its
    own work, and none has a meaning there: no cookie, no session, no form. Django's signals are not sent either: who
    listens to them clears what such a request has not (a cache, a record of queries), and looks after the database's
    connections, which is done here.
    """

    def __init__(
        self,
        middleware: Sequence[str],
        urls: str,
        make_request: Callable[[dict[str, Any]], HttpRequest],
        guard: Callable[[Any], Any],
    ) -> None:
        """middleware: names of middlewares that have no hooks besides their call, outermost first.

        urls: the module whose urlpatterns say where a path leads: views, none of them nested.
        make_request: what the views take, of the WSGI environment.
        guard: makes of a view or middleware one that answers where the other raises.
        """
        self._urls = urls
        self._make_request = make_request
        chain = guard(self._view)
        for name in reversed(middleware):
            chain = guard(import_string(name)(chain))
        self._respond: Callable[[HttpRequest], Response] = chain

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answers a request."""
        sql.renew()
        response = self._respond(self._make_request(environ))
        if isinstance(response, JsonResponse):
            status = response.status_code
            start_response(f"{status} {responses[status]}", [*response.headers.items()])
            return [response.content]
        cookies = [("Set-Cookie", cookie.output(header="")) for cookie in response.cookies.values()]
        start_response(f"{response.status_code} {response.reason_phrase}", [*response.items(), *cookies])
        return response

    def _view(self, request: HttpRequest) -> Response:
        path = request.path_info[1:]
        for matched, view, route in self._views:
            if found := matched(path):
                facts.route = route
                _, args, kwargs = found
                response: Response = view(request, *args, **kwargs)
                return response
        raise Http404

    @cached_property
    def _views(self) -> list[tuple[Callable[[str], Any], Any, str]]:
        # As Django's resolver goes through them, which makes an object of each match.
        return [(url.pattern.match, url.callback, str(url.pattern)) for url in get_resolver(self._urls).url_patterns]
