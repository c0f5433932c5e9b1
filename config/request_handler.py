"""Django's request and WSGI handler, hardened: no client chooses a codec, no slow reader of a file holds a thread.

Django decodes parameters of RFC 2231 (`x*=punycode''…`) and forms with the codec that the client names. Some of
Python's take quadratic time, and an unknown one raises before Django can respond.
"""

import re
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest

from partners.api.json import BODY_LIMIT_BYTES
from partners.api.middleware import is_api_path
from partners.streaming import LimitedStreamingResponse

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
        content_type = environ.get("CONTENT_TYPE", "")
        if content_type:
            environ["CONTENT_TYPE"] = plain_content_type(content_type)
        if "HTTP_TRANSFER_ENCODING" in environ:
            # Django would read nothing of a chunked body: have it read one byte more than the API accepts.
            environ["CONTENT_LENGTH"] = str(BODY_LIMIT_BYTES + 1)
        super().__init__(environ)
        if content_type and is_api_path(self.path_info):
            # The API compares the whole header.
            environ["CONTENT_TYPE"] = content_type

    @property
    def body(self) -> bytes:
        """The body."""
        body = super().body
        # The rest of a longer chunked body is unread.
        self.body_is_read = len(body) <= BODY_LIMIT_BYTES
        return body


class ServiceHandler(WSGIHandler):
    """Django's WSGI handler with ServiceRequest."""

    request_class = ServiceRequest

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:  # type: ignore[override]
        """Respond to a request; stream only responses that count their threads (partners/streaming.py)."""
        if is_api_path(environ["PATH_INFO"]):
            return self._respond_api(environ, start_response)
        response = super().__call__(environ, start_response)
        if not response.streaming or isinstance(response, LimitedStreamingResponse):
            return response
        # WhiteNoise's files, in pieces, would each hold a thread until the slowest reader has them.
        with closing(response):
            return [b"".join(response)]

    def _respond_api(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Respond without Django's signals around each request: 20 µs of some 500.

        Their receivers check the database connections, as `run_first` does (config/database/base.py), and reset a cache
        and a query log that such a request does not have.
        """
        request = self.request_class(environ)
        response: Any = self.get_response(request)
        headers = [*response.headers.items()]
        has_body = environ.get("CONTENT_LENGTH") not in {None, "", "0"} or "HTTP_TRANSFER_ENCODING" in environ
        if has_body and not request.body_is_read and environ.get("SERVER_SOFTWARE") == GRANIAN:
            # Unread bytes would be taken for the next request.
            headers.append(("Connection", "close"))
        start_response(f"{response.status_code} {response.reason_phrase}", headers)
        # A list: the server sends it at once, and need not close it, which would send a signal.
        return response if response.streaming else [response.content]
