"""The server's entry point: `python -m config.serve` serves config.wsgi on HOST:PORT, by granian with one worker."""

import ctypes
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels

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
# Linux's options for classic BPF programs: which packets a socket gets, and which socket of a port gets a connection.
_SO_ATTACH_FILTER, _SO_ATTACH_REUSEPORT_CBPF = 26, 51


class Server(Granian):  # type: ignore[misc, valid-type]
    """granian, which at its end accepts all connections that the kernel has completed.

    It would reset those that wait to be accepted when it closes the port; a proxy cannot send such a POST again, as it
    may have begun. So new connections are ignored for a moment first: the proxy makes them to another process.
    """

    def signal_handler_interrupt(self, *args: Any, **kwargs: Any) -> None:
        """Receive SIGTERM or SIGINT."""
        if sys.platform == "linux":
            with suppress(OSError):
                diversion = ignore_new_connections(settings.HOST, settings.PORT)
                time.sleep(ACCEPTING_SECONDS)
                threading.Thread(target=_refuse, args=(diversion, settings.PORT), daemon=True).start()
        super().signal_handler_interrupt(*args, **kwargs)


def ignore_new_connections(host: str, port: int) -> socket.socket:
    """Have the kernel give new connections to a socket that drops them, in place of the worker's; returns it."""
    one = socket.socket(_family(host))
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    one.bind((host, port))
    _attach(one, _SO_ATTACH_FILTER, returns=0)
    one.listen(1)
    # The worker's is the port's first socket, this one the second.
    _attach(one, _SO_ATTACH_REUSEPORT_CBPF, returns=1)
    return one


def _refuse(diversion: socket.socket, port: int) -> None:
    """Have the kernel refuse new connections once the worker's socket is closed: a proxy goes on at once."""
    ends = time.monotonic() + STOPPING_SECONDS
    while _listeners(port) > 1 and time.monotonic() < ends:
        time.sleep(0.01)
    diversion.close()


def _listeners(port: int) -> int:
    """The number of sockets that listen on a port, by Linux's table."""
    # A kernel without IPv6 has no tcp6.
    tables = [path.read_text() for name in ("tcp", "tcp6") if (path := Path("/proc/self/net", name)).exists()]
    lines = [line.split() for table in tables for line in table.splitlines()]
    # The second column is the local address, the fourth the state; 0A is LISTEN.
    return sum(line[3] == "0A" and line[1].endswith(f":{port:04X}") for line in lines)


def _attach(one: socket.socket, option: int, *, returns: int) -> None:
    """Attach a program of one instruction. returns: how much of a packet the socket gets, or the number of a socket."""
    instruction = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, returns))
    one.setsockopt(socket.SOL_SOCKET, option, struct.pack("HP", 1, ctypes.addressof(instruction)))


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def main() -> None:
    """Serve until SIGTERM or SIGINT. Exits with one line if a setting is bad or the port is in use."""
    try:
        import config.wsgi  # noqa: F401, PLC0415 - before the worker is forked, as what fails here stops the start
    except ImproperlyConfigured as error:
        sys.exit(f"Configuration: {error}")
    for name, setting in settings.MISSPELT_SETTINGS.items():
        log.warning("unknown setting", name=name, alike=setting)
    host, port = settings.HOST, settings.PORT
    try:
        # granian would share the port with another granian.
        socket.create_server((host, port), family=_family(host)).close()
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while attempting")[0]
        sys.exit(f"Configuration: HOST, PORT: cannot listen on {host}:{port}: {reason}.")
    Server(
        "config.wsgi:application",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        # HTTP/2 bodies may lack a length, which WSGI takes for no body. The proxy uses HTTP/1.1.
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=IDLE_SECONDS * 1000, max_buffer_size=HEAD_BUFFER_BYTES),
        backlog=BACKLOG,
        blocking_threads=THREADS,
        blocking_threads_idle_timeout=THREAD_IDLE_SECONDS,
        workers_kill_timeout=STOPPING_SECONDS,
        # At each start it would warn of six threads. Its lines go to the service's log (config/logs.py).
        log_level=LogLevels.error,
        log_dictconfig={"formatters": {}, "handlers": {}, "loggers": {"_granian": {"propagate": True}}},
    ).serve()


if __name__ == "__main__":
    main()
