"""A network that fails at random: connections that are lost before, while or after a request is processed."""

import http.client
import random
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NoReturn

from sandbox.views import HEADER, Fault
from tests.support.client import Headers, Response
from tests.support.timeouts import WAIT_SECONDS


class Loss(Enum):
    """What the client does to its own connection."""

    REQUEST_TORN = auto()
    CLOSED_BEFORE_ANSWER = auto()
    RESET_BEFORE_ANSWER = auto()
    ANSWER_TORN = auto()


class ConnectionLostError(Exception):
    """There is no answer, or not a whole one: whether the request was processed is not known."""


# Not `slow`: it is only a matter of time.
FAULTS = (Fault.LOST_ANSWER, Fault.LOST_ANSWER, Fault.TOO_MANY_REQUESTS, Fault.INTERNAL_ERROR, Fault.UNAVAILABLE)
FAILURES: tuple[Fault | Loss, ...] = (*FAULTS, *Loss)
# SO_LINGER with 0 seconds: close() resets the connection.
_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class LossyTransport:
    """Sends each request to one of the servers, over a connection of its own. share: of requests that fail."""

    ports: Sequence[int]
    random: random.Random
    share: float = 0.4

    def __call__(self, method: str, target: str, headers: Headers, body: bytes) -> Response:
        """Return a whole response. Raises ConnectionLostError."""
        failure = self.random.choice(FAILURES) if self.random.random() < self.share else None
        if isinstance(failure, Fault):
            headers = headers | {HEADER: failure}
        connection = http.client.HTTPConnection("127.0.0.1", self.random.choice(self.ports), timeout=WAIT_SECONDS)
        try:
            connection.connect()
            if isinstance(failure, Loss):
                self._lose(connection, failure, (method, target, headers, body))
            connection.request(method, target, body or None, headers)
            response = connection.getresponse()
            return Response(response.status, dict(response.getheaders()), response.read())
        except TimeoutError:
            raise
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionLostError from error
        finally:
            connection.close()

    def _lose(
        self, connection: http.client.HTTPConnection, loss: Loss, request: tuple[str, str, Headers, bytes]
    ) -> NoReturn:
        method, target, headers, body = request
        wire = connection.sock
        match loss:
            case Loss.REQUEST_TORN if body:
                connection.putrequest(method, target)
                for name, value in (headers | {"Content-Length": str(len(body))}).items():
                    connection.putheader(name, value)
                connection.endheaders(body[: self.random.randrange(len(body))])
            case Loss.REQUEST_TORN:
                wire.sendall(f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api".encode())
            case Loss.ANSWER_TORN:
                connection.request(method, target, body or None, headers)
                wire.recv(self.random.randrange(1, 400))
            case _:
                connection.request(method, target, body or None, headers)
        if loss is not Loss.CLOSED_BEFORE_ANSWER:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        raise ConnectionLostError
