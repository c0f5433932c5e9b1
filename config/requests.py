"""Django's request, for pages and forms, with a Content-Type that no sender can choose a codec by.

Django decodes parameters of RFC 2231 (`x*=punycode''…`), and forms under a `charset`, with whichever of Python's codecs
the sender names. Some take time that grows with the square of the text, and one that does not exist is an error before
Django can answer it.
"""

import re
from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest

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
