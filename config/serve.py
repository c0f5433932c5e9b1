"""The one way to serve, for `make serve`, the demo, the tests and production: `python -m config.serve`."""

import multiprocessing
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels

from config import internal, server_log
from config.workers import CONTEXT, Master

# Of a worker, at most: granian starts one when a request waits for it. Slow readers of downloads can hold
# partners/streaming.MOST_AT_ONCE of them.
THREADS = 6
# A thread has a connection to the database: it is kept over a quiet minute.
THREAD_IDLE_SECONDS = 300
# Connections that wait to be accepted, for each worker.
BACKLOG = 1024
# What the server reads of a request's head before it looks whether that is all. It reads once more as much at the
# most, so a head of 16 KiB is always taken, and one of 32 KiB never (431).
HEAD_BUFFER_BYTES = 16 * 1024
# For a request's head, and between two requests of a connection. A proxy in front has to let go sooner.
IDLE_SECONDS = 75
# For requests under way when a worker stops.
STOPPING_SECONDS = 30


def main() -> None:
    """Serves on HOST:PORT with WEB_WORKERS processes until SIGTERM or SIGINT; requests under way finish.

    SIGHUP replaces the workers one after another, with code and settings as they are then.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # A bad setting ends the start here, not in each worker.
    with ProcessPoolExecutor(1, mp_context=CONTEXT) as apart:
        error, host, port, workers, internal_address = apart.submit(read_settings).result()
    if error:
        sys.exit(f"Configuration: {error}")
    multiprocessing.set_start_method(CONTEXT.get_start_method())
    with refusing_to_start("HOST, PORT", host, port):
        server = Master(
            "config.wsgi:application",
            address=host,
            port=port,
            interface=Interfaces.WSGI,
            # A body over HTTP/2 may come without a length, which WSGI cannot tell from none; the proxy speaks HTTP/1.1.
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(header_read_timeout=IDLE_SECONDS * 1000, max_buffer_size=HEAD_BUFFER_BYTES),
            backlog=BACKLOG,
            workers=workers,
            blocking_threads=THREADS,
            blocking_threads_idle_timeout=THREAD_IDLE_SECONDS,
            # A worker that dies is replaced.
            respawn_failed_workers=True,
            stopping_seconds=STOPPING_SECONDS,
            log_level=LogLevels.warning,
            log_dictconfig=server_log.LOGGING,
        )
    with refusing_to_start("INTERNAL_HOST, INTERNAL_PORT", *internal_address):
        internal.listen(*internal_address, server)
    server.serve()
    if server.has_failed:
        sys.exit("The service cannot be loaded.")


@contextmanager
def refusing_to_start(names: str, host: str, port: int) -> Iterator[None]:
    """Ends the start with one line where nobody can listen at an address. names: the settings that it comes from."""
    try:
        yield
    except OSError as error:
        why = str(error.strerror).partition(" (")[0]
        sys.exit(f"Configuration: {names}: {host}:{port} cannot be listened at: {why}.")


def read_settings() -> tuple[str, str, int, int, tuple[str, int]]:
    """Why the settings are refused (else empty), HOST, PORT, WEB_WORKERS, and the internal host and port.

    Each is looked at when the settings are read; that the service can be loaded with them shows in its workers.
    """
    # The master imports nothing that a new worker is to find anew.
    from django.conf import settings  # noqa: PLC0415
    from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415

    try:
        internal_address = (settings.INTERNAL_HOST, settings.INTERNAL_PORT)
    except ImproperlyConfigured as error:
        return str(error), "", 0, 0, ("", 0)
    return "", settings.HOST, settings.PORT, settings.WEB_WORKERS, internal_address


if __name__ == "__main__":
    main()
