"""A worker, and its place: the socket that it accepts from, and when a successor may start.

Each worker accepts from a socket of its own (SO_REUSEPORT: the kernel spreads the connections), which the master holds
too, so that a successor takes over the connections that wait there. The socket of a worker that died is closed at
once: nobody waits at a socket without a worker.
"""

import gc
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from typing import NamedTuple

from granian.log import logger

from config.server import draining

# Before a worker that died is replaced, by how often its successors have died too; a life of STEADY_SECONDS counts as
# a new beginning.
RESTART_PAUSES_SECONDS = (0, 1, 2, 4, 8, 16, 30)
STEADY_SECONDS = 60.0


class Address(NamedTuple):
    """Where a worker listens. is_for_staff: whether partners' requests go elsewhere."""

    host: str
    port: int
    is_for_staff: bool = False


class Worker:
    """A process that serves. Its `loaded` is set once it does."""

    def __init__(self, process: BaseProcess, loaded: Event) -> None:
        self.process = process
        self.loaded = loaded
        self.since = time.monotonic()

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self.process.is_alive()

    @property
    def has_refused(self) -> bool:
        """Whether it ended because it could not load the service."""
        return not self.loaded.is_set() and (self.process.exitcode or 0) > 0

    def tell_to_drain(self) -> None:
        """Lets it finish what it has begun; one that has not loaded the service has begun nothing."""
        # A process that has been waited for has no number of its own any more.
        if self.is_running and self.process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, draining.SIGNAL if self.loaded.is_set() else signal.SIGKILL)


class Slot:
    """The place of one worker: its socket, who serves there, and when a successor may start.

    worker: None where nobody serves. deaths: in a row. has_refused: whether the last worker could not load the service.
    """

    def __init__(self, address: Address, *, backlog: int) -> None:
        """backlog: connections that wait to be accepted. Raises OSError where nobody can listen at the address."""
        self.address = address
        self.backlog = backlog
        self.listener = bound_socket(address)
        self.worker: Worker | None = None
        self.deaths = 0
        self.not_before = 0.0
        self.has_refused = False

    def note_death(self, worker: Worker) -> None:
        """Closes the socket, so that nobody waits there, and decides when a successor starts."""
        self.worker = None
        self.listener.close()
        self.has_refused = worker.has_refused
        self.deaths = 1 if time.monotonic() - worker.since > STEADY_SECONDS else self.deaths + 1
        # One that could not load the service is not tried again at once.
        pause = RESTART_PAUSES_SECONDS[min(self.deaths, len(RESTART_PAUSES_SECONDS)) - 1] or int(self.has_refused)
        if pause:
            logger.warning("A worker that died is replaced in %s s", pause)
        self.pause(pause)

    def pause(self, seconds: float) -> None:
        """Has the next worker start so much later."""
        self.not_before = time.monotonic() + seconds


def bound_socket(address: Address) -> socket.socket:
    """A worker's socket. Nobody can connect to it before the worker listens. Raises OSError."""
    listener = socket.socket(socket.AF_INET6 if ":" in address.host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hasattr(socket, "TCP_DEFER_ACCEPT"):
            # A connection is accepted when it has something to read: none is closed with its request on the way.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 1)
        listener.bind((address.host, address.port))
    except OSError:
        listener.close()
        raise
    return listener


def load(slot: Slot, loaded: Event) -> draining.DrainingApplication:
    """Loads the service in a worker and has the worker listen. Ends it with one line where the settings are bad."""
    # The master is not to import anything of the service.
    from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415

    try:
        from config.wsgi import application  # noqa: PLC0415
    except ImproperlyConfigured as error:
        sys.exit(f"Configuration: {error}")
    from partners.monitoring import metrics  # noqa: PLC0415 - as above

    worker = draining.DrainingApplication(application, slot.listener)
    signal.signal(draining.SIGNAL, worker.drain)
    # From here on connections wait for this worker, which is ready to be told to drain.
    slot.listener.listen(slot.backlog)
    metrics.mark_serving(for_staff=slot.address.is_for_staff)
    # What is loaded stays: a collection that looked through all of it would hold up requests for some 70 ms.
    gc.collect()
    gc.freeze()
    loaded.set()
    return worker
