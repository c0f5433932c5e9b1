"""The server's entry point: `python -m config.serve` serves config.wsgi on HOST:PORT, by granian with one worker."""

import ctypes
import socket
import struct
import sys
import time
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.net import SocketHolder  # type: ignore[attr-defined]

log = structlog.get_logger("config.serve")

# granian starts a thread when a request waits for one. More than core/streaming.MAX_STREAMS.
THREADS = 6
# A thread keeps its database connection over quiet minutes.
THREAD_IDLE_SECONDS = 300
# Connections that wait to be accepted.
BACKLOG = 1024
# Read at once of a request's head; granian reads as much again at most. So 16 KiB are accepted, 32 KiB never (431).
HEAD_BUFFER_BYTES = 16 * 1024
# How long a request's head, and the pause between two requests of a connection, may take.
IDLE_SECONDS = 75
# How long requests in progress may take when the service stops.
STOPPING_SECONDS = 30
# How long the worker may take to accept the connections that are there when the service stops.
ACCEPTING_SECONDS = 0.5
# Linux's option for a classic BPF program, which says what of a packet a socket gets, and one that drops each SYN: it
# loads the flags of TCP's header, and returns 0 bytes if SYN is set.
_SO_ATTACH_FILTER = 26
_DROP_SYN = ((0x30, 0, 0, 13), (0x45, 0, 1, 0x02), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF))


class Server(Granian):  # type: ignore[misc, valid-type]
    """granian, which would reset connections that wait to be accepted when it ends: a POST could not be sent again.

    So new ones are ignored for a moment first: the proxy makes them to another process.
    """

    def __init__(self, listener: socket.socket, **options: Any) -> None:
        super().__init__("config.wsgi:application", interface=Interfaces.WSGI, **options)
        self._listener = listener

    def _init_shared_socket(self) -> None:
        """Have this process and the worker share a socket; each granian would have one of its own for the port."""
        self._sso, self._ssp = self._listener, None
        self._shd = SocketHolder(self._listener.fileno(), False, BACKLOG)  # type: ignore[call-arg]  # noqa: FBT003

    def signal_handler_interrupt(self, *args: Any, **kwargs: Any) -> None:
        """Receive SIGTERM or SIGINT."""
        if sys.platform == "linux":
            program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in _DROP_SYN))
            option = struct.pack("HP", len(_DROP_SYN), ctypes.addressof(program))
            self._listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, option)
            time.sleep(ACCEPTING_SECONDS)
        super().signal_handler_interrupt(*args, **kwargs)


def main() -> None:
    """Serve until SIGTERM or SIGINT. Exits with one line if a setting is bad or the port is in use."""
    try:
        import config.wsgi  # noqa: F401, PLC0415 - before the worker is forked, as what fails here stops the start
    except ImproperlyConfigured as error:
        sys.exit(f"Configuration: {error}")
    host, port = settings.HOST, settings.PORT
    try:
        of_ipv6: Any = {"family": socket.AF_INET6, "dualstack_ipv6": socket.has_dualstack_ipv6()} if ":" in host else {}
        listener = socket.create_server((host, port), backlog=BACKLOG, **of_ipv6)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while attempting")[0]
        sys.exit(f"Configuration: HOST, PORT: cannot listen on {host}:{port}: {reason}.")
    Server(
        listener,
        # HTTP/2 bodies may lack a length, which WSGI takes for no body. The proxy uses HTTP/1.1.
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=IDLE_SECONDS * 1000, max_buffer_size=HEAD_BUFFER_BYTES),
        blocking_threads=THREADS,
        blocking_threads_idle_timeout=THREAD_IDLE_SECONDS,
        workers_kill_timeout=STOPPING_SECONDS,
        # At each start it would warn of six threads. Its lines go to the service's log (config/logs.py).
        log_level=LogLevels.error,
        log_dictconfig={"formatters": {}, "handlers": {}, "loggers": {"_granian": {"propagate": True}}},
    ).serve()


if __name__ == "__main__":
    main()
