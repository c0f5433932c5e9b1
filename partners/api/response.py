"""Django's response with JSON, made quickly.

HttpResponse determines a charset and checks and converts each header and its content: a tenth of a request's cost.
The underscored names are Django's (docs/dependencies.md).
"""

from collections.abc import Mapping, ValuesView
from http.cookies import SimpleCookie

from django.http import BadHeaderError, HttpResponse
from django.http.response import ResponseHeaders

JSON = "application/json"


class PlainHeaders(ResponseHeaders):
    """Headers whose names and values are ASCII text."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._store = {name.lower(): (name, value) for name, value in headers.items()}

    def __setitem__(self, name: str, value: str) -> None:  # type: ignore[override]
        if "\n" in value or "\r" in value:
            raise BadHeaderError("Header values can't contain newlines.")
        self._store[name.lower()] = (name, value)

    def items(self) -> ValuesView[tuple[str, str]]:  # type: ignore[override]
        """Names as they were set, and values."""
        return self._store.values()


class JsonResponse(HttpResponse):
    """A response whose body is JSON already, so that a stored one is sent byte for byte."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str] = {}) -> None:
        """headers: in addition to Content-Type and Content-Length, without which servers would send chunks."""
        # These lines replace HttpResponse.__init__.
        self.headers = PlainHeaders({"Content-Type": JSON, "Content-Length": str(len(body)), **headers})
        self.status_code = status
        self.cookies = SimpleCookie()
        self.closed = False
        self._container = [body]
        self._charset = self._reason_phrase = self._handler_class = None
        self._resource_closers: list[object] = []
