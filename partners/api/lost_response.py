"""A response that breaks the connection, for clients that try what they do then (contract, section 11)."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from django.core.servers.basehttp import ServerHandler
from django.http import StreamingHttpResponse


class LostResponse(StreamingHttpResponse):
    """A response that breaks the connection: it announces a byte more than it sends.

    The server then closes the connection, and a proxy in front the client's: no client takes it for a whole response.
    It is no failure of the service, and so no line in a log.
    """

    def __init__(self) -> None:
        # More pieces than the server keeps in memory (hyper's queue has 16): the head is sent before the body ends
        # early. A proxy that got no head would send a whole response of its own.
        pieces = [b" "] * 64
        super().__init__(iter(pieces), status=502, headers={"Content-Length": str(len(pieces) + 1)})


def broken_off(response: LostResponse, start_response: Any) -> Iterable[bytes]:
    """The response as it is: granian closes the connection at its early end, without a line in the log.

    wsgiref, Django's development server, would wait for the client's next request, which waits for the last byte; and
    it logs a 502 as an error. It logs nothing of a connection that the client has closed.
    """
    server = getattr(start_response, "__self__", None)
    if not isinstance(server, ServerHandler):
        return response
    server.request_handler.close_connection = True  # type: ignore[attr-defined] # set by Django's handler
    return _aborted(response)


def _aborted(response: LostResponse) -> Iterator[bytes]:
    with closing(response):
        yield from response
    raise ConnectionAbortedError
