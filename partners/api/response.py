"""Responses of the API: Django's with JSON, made quickly, and one that breaks the connection.

HttpResponse determines a charset and checks and converts each header and its content: a tenth of a request's cost.
The underscored names are Django's (docs/dependencies.md).
"""

from collections.abc import Mapping, ValuesView
from functools import partial
from http.cookies import SimpleCookie

import orjson
from django.http import BadHeaderError, HttpResponse, StreamingHttpResponse
from django.http.response import ResponseHeaders

from core.formats import format_timestamp

# JSON as bytes, with date-times as the contract has them (section 6).
encode = partial(orjson.dumps, default=format_timestamp, option=orjson.OPT_PASSTHROUGH_DATETIME)


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
        self.headers = PlainHeaders({"Content-Type": "application/json", "Content-Length": str(len(body)), **headers})
        self.status_code = status
        self.cookies = SimpleCookie()
        self.closed = False
        self._container = [body]
        self._charset = self._reason_phrase = self._handler_class = None
        self._resource_closers: list[object] = []


class LostResponse(StreamingHttpResponse):
    """A response that breaks the connection (contract, section 11): it announces a byte more than it sends.

    The server then closes the connection, and a proxy in front the client's: no client takes it for a whole response.
    It is no failure of the service, and so granian writes no line in a log.
    """

    def __init__(self) -> None:
        # More pieces than the server keeps in memory (hyper's queue has 16): the head is sent before the body ends
        # early. A proxy that got no head would send a whole response of its own.
        pieces = [b" "] * 64
        super().__init__(iter(pieces), status=502, headers={"Content-Length": str(len(pieces) + 1)})
