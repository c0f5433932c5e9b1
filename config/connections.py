"""The connections of a worker, and bodies that do not arrive over them.

A body is read by the thread that answers, of which there are few. granian has no limit for how long that takes, and
does not tell which connection a request came by; the kernel tells of each how long ago something was sent over it.
"""

import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

# How long a body may take to arrive, from the first read to the last.
BODY_SECONDS = 10.0
LOOK_SECONDS = 1.0

# Of struct tcp_info (linux/tcp.h): tcpi_last_data_sent and tcpi_last_data_recv, milliseconds ago, and tcpi_bytes_acked.
_INFO = struct.Struct("=44xI4xI64xQ")


def connections(port: int) -> Iterator[socket.socket]:
    """The connections that this process has at a port of its own, each a duplicate that is closed after its turn."""
    for descriptor in os.listdir("/dev/fd"):  # noqa: PTH208 - names, not paths
        try:
            duplicate = os.dup(int(descriptor))
        except OSError:  # closed since it was listed
            continue
        try:
            end = socket.socket(fileno=duplicate)
        except OSError:  # no socket
            os.close(duplicate)
            continue
        with closing(end):
            if _is_connection(end) and end.getsockname()[1] == port:
                yield end


def _is_connection(end: socket.socket) -> bool:
    is_of_tcp = end.family in {socket.AF_INET, socket.AF_INET6} and end.type == socket.SOCK_STREAM
    return is_of_tcp and not end.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)


class Bodies:
    """The bodies that a worker waits for. One that takes longer than BODY_SECONDS is cut off where it is."""

    def __init__(self, port: int) -> None:
        self._port = port
        # By stream: when its first read began (monotonic).
        self._awaited: dict[int, float] = {}
        if hasattr(socket, "TCP_INFO"):
            threading.Thread(target=self._look_after, name="slow bodies", daemon=True).start()

    def timed(self, stream: Any) -> "TimedBody":
        """A request's `wsgi.input` that ends early where it takes too long."""
        return TimedBody(stream, self._awaited)

    def _look_after(self) -> None:
        while True:
            time.sleep(LOOK_SECONDS)
            latest = time.monotonic() - BODY_SECONDS
            if late := sum(begun < latest for begun in list(self._awaited.values())):
                # Where a flood has taken all descriptors, the next look may find one.
                with suppress(OSError):
                    self._cut(late)

    def _cut(self, count: int) -> None:
        """Ends the input of the connections, so many, that have waited longest for an answer.

        Those are the ones in question: what else waits came after them, and waits for their threads.
        """
        waiting = []
        for connection in connections(self._port):
            seconds = _waits(connection)
            if seconds >= BODY_SECONDS:
                waiting.append((seconds, connection.dup()))
        waiting.sort(key=lambda pair: pair[0], reverse=True)
        for number, (_, connection) in enumerate(waiting):
            with closing(connection), suppress(OSError):  # it has ended meanwhile
                if number < count:
                    connection.shutdown(socket.SHUT_RD)


def _waits(connection: socket.socket) -> float:
    """For how many seconds nothing has been sent to a client that waits; 0 for one that does not wait."""
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
    except OSError:
        return 0.0
    sent, received, acknowledged = _INFO.unpack(info)
    # The first byte is the handshake's.
    is_idle = acknowledged > 1 and received >= sent
    return 0.0 if is_idle else sent / 1000


class TimedBody:
    """What Django reads of a stream as PEP 3333 has it."""

    __slots__ = ("_awaited", "_begun", "_stream")

    def __init__(self, stream: Any, awaited: dict[int, float]) -> None:
        self._stream, self._awaited, self._begun = stream, awaited, 0.0

    def read(self, size: int = -1) -> bytes:
        """Reads up to `size` bytes; fewer where the body ends or takes too long."""
        return self._timed(self._stream.read, size)

    def readline(self, size: int = -1) -> bytes:
        """The same, and no further than the end of a line."""
        return self._timed(self._stream.readline, size)

    def _timed(self, read: Callable[[int], bytes], size: int) -> bytes:
        self._begun = self._begun or time.monotonic()
        self._awaited[id(self)] = self._begun
        try:
            return read(size)
        finally:
            del self._awaited[id(self)]
