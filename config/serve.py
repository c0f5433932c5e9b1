"""The server's entry point: `python -m config.serve`."""

import argparse
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from tempfile import TemporaryDirectory
from typing import Any

from granian.http import HTTP1Settings
from granian.log import LogLevels

from config.server import log_format
from config.server.deliverer import DelivererSlot
from config.server.granian_internals import WorkerFactory
from config.server.listening import METRICS_FOLDER, Kind, ListeningSlot, require_free
from config.server.master import Master
from config.server.worker import CONTEXT, Slot

# Of a worker; granian starts a thread when a request waits for one. More than partners/streaming.MAX_STREAMS.
THREADS = 6
# A thread keeps its database connection over quiet minutes.
THREAD_IDLE_SECONDS = 300
# Connections that wait to be accepted, for each worker.
BACKLOG = 1024
# Read at once of a request's head; granian reads as much again at most. So 16 KiB are accepted, 32 KiB never (431).
HEAD_BUFFER_BYTES = 16 * 1024
# For a request's head, and between two requests of a connection; longer than a proxy in front keeps connections.
IDLE_SECONDS = 75
# For requests when a worker stops.
STOPPING_SECONDS = 30


def main() -> None:
    """Serve until SIGTERM or SIGINT; SIGHUP replaces the workers one by one, with new code and settings."""
    parser = argparse.ArgumentParser("python -m config.serve", description="The service.")
    parser.add_argument("--deliver-events", action="store_true", help="run manage.py deliver_events beside it")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # In a process apart: the master does not import the service.
    with ProcessPoolExecutor(1, mp_context=CONTEXT) as process:
        settings = process.submit(read_settings).result()
    multiprocessing.set_start_method(CONTEXT.get_start_method())
    factory = WorkerFactory(
        http1_settings=HTTP1Settings(header_read_timeout=IDLE_SECONDS * 1000, max_buffer_size=HEAD_BUFFER_BYTES),
        backlog=BACKLOG,
        blocking_threads=THREADS,
        blocking_threads_idle_timeout=THREAD_IDLE_SECONDS,
        log_level=LogLevels.warning,
        log_dictconfig=log_format.LOGGING,
    )
    slots: list[Slot] = [*_listening_slots(settings)]
    if options.deliver_events:
        slots.append(DelivererSlot())
    with TemporaryDirectory(prefix="psi-metrics-", ignore_cleanup_errors=True) as folder:
        if settings["INTERNAL_PORT"]:
            os.environ[METRICS_FOLDER] = folder
        master = Master(slots, factory, stopping_seconds=STOPPING_SECONDS)
        master.serve()
    if master.has_failed:
        sys.exit("The service cannot be loaded.")


def read_settings() -> dict[str, Any]:
    """Return the settings of the addresses; exit with one line if one is bad."""
    from django.conf import settings  # noqa: PLC0415
    from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415

    names = ("HOST", "PORT", "WEB_WORKERS", "STAFF_PORT", "INTERNAL_HOST", "INTERNAL_PORT")
    try:
        return {name: getattr(settings, name) for name in names}
    except ImproperlyConfigured as error:
        sys.exit(f"Configuration: {error}")


def _listening_slots(settings: dict[str, Any]) -> list[ListeningSlot]:
    """Return a slot for each worker. Exits with one line if an address cannot be bound."""
    # The settings of the host and the port, what the workers serve, and their number.
    table = [
        ("HOST", "PORT", Kind.PARTNERS, settings["WEB_WORKERS"]),
        ("HOST", "STAFF_PORT", Kind.STAFF, 1),
        ("INTERNAL_HOST", "INTERNAL_PORT", Kind.INTERNAL, 1),
    ]
    slots = []
    for host_name, port_name, kind, number in table:
        host, port = settings[host_name], settings[port_name]
        if not port:
            continue
        try:
            require_free(host, port)
            slots += [ListeningSlot(host, port, kind, backlog=BACKLOG) for _ in range(number)]
        except OSError as error:
            reason = str(error.strerror).partition(" (")[0]
            sys.exit(f"Configuration: {host_name}, {port_name}: cannot listen on {host}:{port}: {reason}.")
    return slots


if __name__ == "__main__":
    main()
