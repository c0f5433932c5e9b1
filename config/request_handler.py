"""Django's request and handler: no client can choose a codec, and no reader can hold a thread.

Django decodes parameters of RFC 2231 (`x*=punycode''…`), and forms under a `charset`, with whichever of Python's codecs
the client names. Some take time that grows with the square of the text, and one that does not exist is an error before
Django can answer it.
"""

import re
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest

from partners.api.json import BODY_LIMIT_BYTES
from partners.api.middleware import is_api_path
from partners.api.request import has_body
from partners.streaming import LimitedStreamingResponse

# Passes on what PEP 3333 leaves to the server, and wsgiref refuses: a Connection header.
GRANIAN = "Granian"
# Of RFC 2046, section 5.1.1, quoted or not.
_BOUNDARY = re.compile(
    r""";\s*boundary=("[\w'()+,\-./:=? ]{1,200}"|[\w'()+,\-./:=?]{1,200})\s*(?:;|\Z)""", re.ASCII | re.IGNORECASE
)


def plain_content_type(value: str) -> str:
    """A Content-Type reduced to its media type and, of a multipart body, the boundary: all that Django's forms need."""
    media_type = value.partition(";")[0].strip()
    boundary = _BOUNDARY.search(value) if media_type.lower().startswith("multipart/") else None
    return f"{media_type}; boundary={boundary[1]}" if boundary else media_type


class ServiceRequest(WSGIRequest):
    """Django's request, whose text is UTF-8, whatever its Content-Type says.

    path_bytes: the path, percent-decoded: what is signed. Django's text is the same for %FF and %25FF.
    """

    body_is_read = False

    def __init__(self, environ: dict[str, Any]) -> None:
        """environ: the WSGI environment (PEP 3333). CONTENT_TYPE is reduced, except under /v1, which compares it."""
        self.path_bytes = environ["PATH_INFO"].encode("latin-1")
        content_type = environ.get("CONTENT_TYPE", "")
        if content_type:
            environ["CONTENT_TYPE"] = plain_content_type(content_type)
        if "HTTP_TRANSFER_ENCODING" in environ:
            # Django reads as much as is declared, and of a chunked body nothing is: one byte more than the API takes.
            environ["CONTENT_LENGTH"] = str(BODY_LIMIT_BYTES + 1)
        super().__init__(environ)
        if content_type and is_api_path(self.path_info):
            environ["CONTENT_TYPE"] = content_type

    @property
    def body(self) -> bytes:
        """The body's bytes."""
        body = super().body
        # Of a longer one that came in chunks, the rest is still to come.
        self.body_is_read = len(body) <= BODY_LIMIT_BYTES
        return body


class ServiceHandler(WSGIHandler):
    """Django's WSGI handler with ServiceRequest."""

    request_class = ServiceRequest

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:  # type: ignore[override]
        """Answers a request. What holds no slot for it (partners/streaming.py) goes to the server in one piece.

        That is WhiteNoise's files: in pieces, each would hold its thread until the slowest reader has taken it.
        """
        if is_api_path(environ["PATH_INFO"]):
            return self._answer_api(environ, start_response)
        response = super().__call__(environ, start_response)
        if not response.streaming or isinstance(response, LimitedStreamingResponse):
            return response
        with closing(response):
            return [b"".join(response)]

    def _answer_api(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """As Django's, without its signals around each request: they cost 20 µs of some 500 (docs/performance.md).

        Their receivers look after the database's connections, which `run_first` does (config/database/base.py), and
        reset what such a request has not: a cache, a record of queries.
        """
        request = self.request_class(environ)
        response: Any = self.get_response(request)
        headers = [*response.headers.items()]
        if not request.body_is_read and has_body(request) and environ.get("SERVER_SOFTWARE") == GRANIAN:
            # What was not read is still to come: the connection cannot carry another request.
            headers.append(("Connection", "close"))
        start_response(f"{response.status_code} {response.reason_phrase}", headers)
        # Closing a response sends a signal too; one piece needs no closing, and the server sends it at once.
        return response if response.streaming else [response.content]
