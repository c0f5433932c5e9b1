"""What an endpoint answers with: Django's response, made quickly.

HttpResponse works out a charset, checks and converts each header and its content: a tenth of what a request costs
(docs/performance.md). Here all of it is known. The underscored names are Django's (docs/dependencies.md).
"""

from collections.abc import Mapping, ValuesView
from http.cookies import SimpleCookie

from django.http import BadHeaderError, HttpResponse
from django.http.response import ResponseHeaders

JSON = "application/json"


class PlainHeaders(ResponseHeaders):
    """Headers whose names and values are text in ASCII."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._store = {name.lower(): (name, value) for name, value in headers.items()}

    def __setitem__(self, name: str, value: str) -> None:  # type: ignore[override]
        if "\n" in value or "\r" in value:
            raise BadHeaderError("A header's value holds a line end.")
        self._store[name.lower()] = (name, value)

    def items(self) -> ValuesView[tuple[str, str]]:  # type: ignore[override]
        """Names as they were set, and values."""
        return self._store.values()


class JsonResponse(HttpResponse):
    """An answer whose body is JSON already, so that the stored answer to an earlier write goes out byte for byte."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str] = {}) -> None:
        """body: in UTF-8. headers: made by this service; Content-Type and Content-Length are added."""
        # In place of HttpResponse.__init__. Without a length the server would send the answer in chunks.
        self.headers = PlainHeaders({"Content-Type": JSON, "Content-Length": str(len(body)), **headers})
        self.status_code = status
        self.cookies = SimpleCookie()
        self.closed = False
        self._container = [body]
        self._charset = self._reason_phrase = self._handler_class = None
        self._resource_closers: list[object] = []


def json_response(status: int, body: bytes, headers: Mapping[str, str] = {}) -> JsonResponse:
    """An answer with a JSON body in UTF-8."""
    return JsonResponse(status, body, headers)
