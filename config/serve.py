"""The one way to serve, for `make serve`, the demo, the tests and production: `python -m config.serve`."""

import multiprocessing
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from granian.http import HTTP1Settings
from granian.log import LogLevels

from config.server import log_format
from config.server.granian_internals import WorkerFactory
from config.server.internal_port import InternalPort
from config.server.master import CONTEXT, Master
from config.server.worker import Address, Slot

# Of a worker, at most: granian starts one when a request waits for it. Slow readers of downloads can hold
# partners/streaming.MAX_STREAMS of them.
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


class ServeSettings(NamedTuple):
    """The settings of the same names in capitals. A port of 0 is none."""

    host: str
    port: int
    workers: int
    staff_port: int
    internal_host: str
    internal_port: int


def main() -> None:
    """Serves on HOST:PORT with WEB_WORKERS processes until SIGTERM or SIGINT; requests under way finish.

    Staff have a process of their own where STAFF_PORT names its port. SIGHUP replaces the workers one after another,
    with code and settings as they are then.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # A bad setting ends the start here, not in each worker.
    with ProcessPoolExecutor(1, mp_context=CONTEXT) as apart:
        found = apart.submit(read_settings).result()
    if isinstance(found, str):
        sys.exit(f"Configuration: {found}")
    multiprocessing.set_start_method(CONTEXT.get_start_method())
    factory = WorkerFactory(
        http1_settings=HTTP1Settings(header_read_timeout=IDLE_SECONDS * 1000, max_buffer_size=HEAD_BUFFER_BYTES),
        backlog=BACKLOG,
        blocking_threads=THREADS,
        blocking_threads_idle_timeout=THREAD_IDLE_SECONDS,
        log_level=LogLevels.warning,
        log_dictconfig=log_format.LOGGING,
    )
    master = Master(_slots(found), _internal_port(found), factory, stopping_seconds=STOPPING_SECONDS)
    master.serve()
    if master.has_failed:
        sys.exit("The service cannot be loaded.")


def _slots(settings: ServeSettings) -> list[Slot]:
    """A place for each worker."""
    with refusing_to_start("HOST, PORT", settings.host, settings.port):
        slots = [Slot(Address(settings.host, settings.port), backlog=BACKLOG) for _ in range(settings.workers)]
    if settings.staff_port:
        with refusing_to_start("HOST, STAFF_PORT", settings.host, settings.staff_port):
            slots.append(Slot(Address(settings.host, settings.staff_port, is_for_staff=True), backlog=BACKLOG))
    return slots


def _internal_port(settings: ServeSettings) -> InternalPort | None:
    if not settings.internal_port:
        return None
    with refusing_to_start("INTERNAL_HOST, INTERNAL_PORT", settings.internal_host, settings.internal_port):
        return InternalPort(settings.internal_host, settings.internal_port)


@contextmanager
def refusing_to_start(names: str, host: str, port: int) -> Iterator[None]:
    """Ends the start with one line where nobody can listen at an address. names: the settings that it comes from."""
    try:
        yield
    except OSError as error:
        why = str(error.strerror).partition(" (")[0]
        sys.exit(f"Configuration: {names}: {host}:{port} cannot be listened at: {why}.")


def read_settings() -> ServeSettings | str:
    """The settings, or why they are refused.

    Each is looked at when the settings are read; that the service can be loaded with them shows in its workers.
    """
    # The master imports nothing that a new worker is to find anew.
    from django.conf import settings  # noqa: PLC0415
    from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415

    try:
        internal_host, internal_port = settings.INTERNAL_HOST, settings.INTERNAL_PORT
    except ImproperlyConfigured as error:
        return str(error)
    return ServeSettings(
        settings.HOST, settings.PORT, settings.WEB_WORKERS, settings.STAFF_PORT, internal_host, internal_port
    )


if __name__ == "__main__":
    main()
