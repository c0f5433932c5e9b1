"""The server's entry point: `python -m config.serve` serves config.wsgi on HOST:PORT, by granian with one worker."""

import socket
import sys

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels

log = structlog.get_logger("config.serve")

# granian starts a thread when a request waits for one. More than partners/streaming.MAX_STREAMS.
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
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while attempting")[0]
        sys.exit(f"Configuration: HOST, PORT: cannot listen on {host}:{port}: {reason}.")
    Granian(
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
