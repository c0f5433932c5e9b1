"""Draining: how a worker ends without losing a request.

granian closes idle connections at once, and loses the requests that are in transit over them. A draining worker
accepts the connections that wait, then no more, closes each one with its next response, and stops when none is left.
"""

import os
import signal
import socket
import stat
import struct
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from typing import Any

from config.server.granian_internals import Application

# Sent to a worker that is to drain.
SIGNAL = signal.SIGUSR1
# For the connections that wait to be accepted, and then for the last request of each; then idle ones are closed.
SECONDS = 3.0
POLL_SECONDS = 0.02
WAITING_POLL_SECONDS = 0.001
# Of a listening socket's TCP_INFO: the connections that wait to be accepted (tcpi_unacked).
_WAITING = struct.Struct("24xI")


class DrainingApplication:
    """The WSGI application of a worker. listener: the socket that the worker accepts from."""

    def __init__(self, application: Application, listener: socket.socket) -> None:
        self._application = application
        self._listener = listener
        self._port = listener.getsockname()[1]
        self._is_draining = False

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Respond to a request (PEP 3333)."""

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None, /) -> Any:
            if self._is_draining:
                headers = [header for header in headers if header[0].lower() != "connection"]
                headers.append(("Connection", "close"))
            return start_response(status, headers, exc_info)

        return self._application(environ, start)

    def drain(self, *_: object) -> None:
        """Accept no more connections, and stop when each open one has had its last response."""
        if self._is_draining:
            return
        self._is_draining = True
        threading.Thread(target=self._stop_when_drained, name="drain", daemon=True).start()

    def _stop_when_drained(self) -> None:
        try:
            self._stop_accepting(time.monotonic() + SECONDS)
            deadline = time.monotonic() + SECONDS
            while _has_connection(self._port) and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
        finally:
            # Also if no file descriptor is left to list them.
            os.kill(os.getpid(), signal.SIGTERM)

    def _stop_accepting(self, deadline: float) -> None:
        # granian goes on accepting from this descriptor: replace its socket by one without clients.
        with socket.create_server(("127.0.0.1", 0), backlog=1) as unused:
            unused.setblocking(False)  # noqa: FBT003 - its signature
            # The connections that wait would be reset. What comes between this and the next call is.
            while _has_waiting(self._listener) and time.monotonic() < deadline:
                time.sleep(WAITING_POLL_SECONDS)
            os.dup2(unused.fileno(), self._listener.fileno(), inheritable=False)


def _has_waiting(listener: socket.socket) -> bool:
    """Whether connections wait to be accepted."""
    if sys.platform != "linux":
        return False
    return _WAITING.unpack(listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _WAITING.size)) != (0,)


def _has_connection(port: int) -> bool:
    """Whether this process has a connection on its port; granian does not tell."""
    for descriptor in map(int, os.listdir("/dev/fd")):  # noqa: PTH208 - names, not paths
        # Descriptors may be closed after they were listed.
        with suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                continue
            with closing(socket.socket(fileno=os.dup(descriptor))) as end:
                if end.getsockname()[1:2] == (port,) and not end.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    return True
    return False
