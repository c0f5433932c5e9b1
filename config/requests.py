"""Django's request and handler for pages and forms: no sender can choose a codec, and no reader can hold a thread.

Django decodes parameters of RFC 2231 (`x*=punycode''…`), and forms under a `charset`, with whichever of Python's codecs
the sender names. Some take time that grows with the square of the text, and one that does not exist is an error before
Django can answer it.
"""

import re
from contextlib import closing
from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.http.response import HttpResponseBase

from partners.streaming import PiecesResponse

# Of RFC 2046, section 5.1.1, quoted or not.
_BOUNDARY = re.compile(
    r""";\s*boundary=("[\w'()+,\-./:=? ]{1,200}"|[\w'()+,\-./:=?]{1,200})\s*(?:;|\Z)""", re.ASCII | re.IGNORECASE
)


def plain_content_type(value: str) -> str:
    """A Content-Type reduced to its media type and, of a multipart body, the boundary: all that Django's forms need."""
    media_type = value.partition(";")[0].strip()
    boundary = _BOUNDARY.search(value) if media_type.lower().startswith("multipart/") else None
    return f"{media_type}; boundary={boundary[1]}" if boundary else media_type


class PlainRequest(WSGIRequest):
    """A request whose text is UTF-8, whatever its Content-Type says."""

    def __init__(self, environ: dict[str, Any]) -> None:
        """environ: the WSGI environment (PEP 3333); its CONTENT_TYPE is reduced."""
        environ["CONTENT_TYPE"] = plain_content_type(environ.get("CONTENT_TYPE", ""))
        super().__init__(environ)


class PlainHandler(WSGIHandler):
    """Django's WSGI handler with PlainRequest."""

    request_class = PlainRequest

    def __call__(self, environ: dict[str, Any], start_response: Any) -> HttpResponseBase | list[bytes]:  # type: ignore[override]
        """Answers a request. What holds no slot for it (partners/streaming.py) goes to the server in one piece.

        That is WhiteNoise's files: in pieces, each would hold its thread until the slowest reader has taken it.
        """
        response = super().__call__(environ, start_response)
        if not response.streaming or isinstance(response, PiecesResponse):
            return response
        with closing(response):
            return [b"".join(response)]
