"""Django's request and WSGI handler, hardened: no client chooses a codec, no slow reader of a response holds a thread.

Around each request Django looks at all connections, for broken ones and for logged statements. Under /v1 the backend
does so with the first statement (DatabaseWrapper.run_first), and nothing is logged but with DEBUG: 120 calls less.

Django decodes parameters of RFC 2231 (`x*=punycode''…`) and forms with the codec that the client names. Some of
Python's take quadratic time, and an unknown one raises before Django can respond.
"""

import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

import structlog
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.core.servers.basehttp import ServerHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connection, reset_queries
from django.http.response import HttpResponseBase

from core.streaming import LimitedStreamingResponse
from partners.api.middleware import is_api_path
from partners.api.request import MAX_BODY_BYTES
from partners.api.response import LostResponse

log = structlog.get_logger("partners.api.handler")

# It accepts a Connection header, which PEP 3333 leaves to the server and wsgiref refuses.
GRANIAN = "Granian"
# RFC 2046, section 5.1.1, quoted or not.
_BOUNDARY = re.compile(
    r""";\s*boundary=("[\w'()+,\-./:=? ]{1,200}"|[\w'()+,\-./:=?]{1,200})\s*(?:;|\Z)""", re.ASCII | re.IGNORECASE
)


def plain_content_type(value: str) -> str:
    """Return a Content-Type with no parameter but the boundary of a multipart body, as Django's forms need."""
    media_type = value.partition(";")[0].strip()
    boundary = _BOUNDARY.search(value) if media_type.lower().startswith("multipart/") else None
    return f"{media_type}; boundary={boundary[1]}" if boundary else media_type


class ServiceRequest(WSGIRequest):
    """Django's request. path_bytes: the decoded path, which is signed; `path` is the same for %FF and %25FF."""

    body_is_read = False

    def __init__(self, environ: dict[str, Any]) -> None:
        self.path_bytes = environ["PATH_INFO"].encode("latin-1")
        self.has_body = environ.get("CONTENT_LENGTH") not in {None, "", "0"} or "HTTP_TRANSFER_ENCODING" in environ
        content_type = environ.get("CONTENT_TYPE", "")
        if content_type:
            environ["CONTENT_TYPE"] = plain_content_type(content_type)
        if "HTTP_TRANSFER_ENCODING" in environ:
            # Django would read nothing of a chunked body: have it read one byte more than the API accepts.
            environ["CONTENT_LENGTH"] = str(MAX_BODY_BYTES + 1)
        super().__init__(environ)
        if content_type and is_api_path(self.path_info):
            # The API compares the whole header.
            environ["CONTENT_TYPE"] = content_type

    @property
    def body(self) -> bytes:
        """The body."""
        body = super().body
        # The rest of a longer chunked body is unread.
        self.body_is_read = len(body) <= MAX_BODY_BYTES
        return body


def _aborted(response: LostResponse) -> Iterator[bytes]:
    """The pieces, then the error of a client that has gone: wsgiref logs that one never, a 502 as an error."""
    with closing(response):
        yield from response
    raise ConnectionAbortedError


class _Handled(threading.local):
    # Whether the thread's request is one under /v1.
    is_api = False


_handled = _Handled()


def begin_request(environ: dict[str, Any], **_: object) -> None:
    """Close a connection that something has left in a transaction; outside of /v1 also broken ones, as Django does."""
    _handled.is_api = is_api_path(environ["PATH_INFO"])
    if connection.in_atomic_block:
        # Django never replaces a connection in a transaction: each request of this thread would fail.
        log.error("a transaction was left open: it is rolled back")
        connection.close_left_open()  # type: ignore[attr-defined] # core.database.base.DatabaseWrapper
    if not _handled.is_api:
        close_old_connections()


def end_request(**_: object) -> None:
    """Close broken connections, as Django does, unless the path was under /v1."""
    if not _handled.is_api:
        close_old_connections()


class ServiceHandler(WSGIHandler):
    """Django's WSGI handler with ServiceRequest."""

    request_class = ServiceRequest

    def __init__(self) -> None:
        super().__init__()
        for signal, receiver in ((request_started, begin_request), (request_finished, end_request)):
            signal.disconnect(close_old_connections)
            signal.connect(receiver)
        if not settings.DEBUG:
            request_started.disconnect(reset_queries)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:  # type: ignore[override]
        """Respond by a list: an iterator, such as WhiteNoise's files, holds a thread while a slow client reads."""
        response = super().__call__(environ, start_response)
        if isinstance(response, LostResponse):
            server = getattr(start_response, "__self__", None)
            if isinstance(server, ServerHandler):
                # wsgiref, Django's development server, would wait for the client's next request.
                server.request_handler.close_connection = True  # type: ignore[attr-defined] # set by Django's handler
                return _aborted(response)
            return response
        is_streamed = getattr(response, "streaming", False)  # wsgiref wraps files
        if is_streamed and (isinstance(response, LimitedStreamingResponse) or is_api_path(environ["PATH_INFO"])):
            return response
        with closing(response):
            return [b"".join(response)]

    def get_response(self, request: ServiceRequest) -> HttpResponseBase:  # type: ignore[override]
        """As Django's, but end a connection with unread bytes, which would be taken for the next request."""
        response: HttpResponseBase = super().get_response(request)
        is_unread = request.has_body and not request.body_is_read and is_api_path(request.path_info)
        if is_unread and request.environ.get("SERVER_SOFTWARE") == GRANIAN:
            response.headers["Connection"] = "close"
        return response
