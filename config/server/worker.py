"""A worker process, and its slot: the socket that it accepts from, and when a successor may start.

Workers serve partners, staff if they have a port, or the internal port. Each accepts from a socket of its own, those
for partners with SO_REUSEPORT: the kernel spreads the connections. The master holds the sockets too, so that after a
reload the successor takes over the connections that wait there. If a worker dies, its socket is closed at once: no
connection waits at a socket without a worker.
"""

import gc
import os
import shutil
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from enum import Enum, auto
from importlib import import_module
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event

from granian.log import logger

from config.server import draining

# Before a worker that died is replaced, by the number of deaths in a row. After STEADY_SECONDS a death is the first.
RESTART_PAUSES_SECONDS = (0, 1, 2, 4, 8, 16, 30)
STEADY_SECONDS = 60.0
MASTER_CHECK_SECONDS = 1.0
# Read by prometheus_client: the folder of all workers' metrics (partners/monitoring/multiprocess.py).
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


class Worker:
    """A process that serves. loaded: set once it accepts connections."""

    def __init__(self, process: BaseProcess, loaded: Event) -> None:
        self.process = process
        self.loaded = loaded
        self.started = time.monotonic()

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self.process.is_alive()

    @property
    def failed_to_load(self) -> bool:
        """Whether the process ended because it could not load the service."""
        return not self.loaded.is_set() and (self.process.exitcode or 0) > 0

    def drain(self) -> None:
        """Signal the worker to finish its requests and end; kill it if it has not loaded the service."""
        # The process number of a process that has been waited for may belong to another.
        if self.is_running and self.process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, draining.SIGNAL if self.loaded.is_set() else signal.SIGKILL)

    def kill(self) -> None:
        """Kill the process and wait for its end."""
        self.process.kill()
        self.process.join()


class Kind(Enum):
    """What a worker serves. PARTNERS: everything, if staff have no port."""

    PARTNERS = auto()
    STAFF = auto()
    INTERNAL = auto()


class Slot:
    """The place of one worker. worker: None while the slot is empty."""

    def __init__(self, host: str, port: int, kind: Kind, *, backlog: int) -> None:
        """backlog: connections that wait to be accepted. Raises OSError if the address cannot be bound."""
        self.kind = kind
        self._master = os.getpid()
        self._address = (host, port)
        self._backlog = backlog
        self._deaths = 0
        self.worker: Worker | None = None
        self.start_at = 0.0
        # Whether the last worker could not load the service.
        self.failed_to_load = False
        self.bind()

    def bind(self) -> None:
        """Open the socket. Connections are refused until a worker listens. Raises OSError."""
        self.listener = socket.socket(socket.AF_INET6 if ":" in self._address[0] else socket.AF_INET)
        try:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Not for the internal port: a second service on it would go unnoticed.
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, self.kind != Kind.INTERNAL)
            self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if hasattr(socket, "TCP_DEFER_ACCEPT"):
                # Accept connections with their first bytes: none is closed while its request is in transit.
                self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 1)
            self.listener.bind(self._address)
        except OSError:
            self.listener.close()
            raise

    def empty(self, worker: Worker) -> None:
        """Remove a worker that died: close the socket, and decide when a successor starts."""
        self.worker = None
        self.listener.close()
        self.failed_to_load = worker.failed_to_load
        self._deaths = 1 if time.monotonic() - worker.started > STEADY_SECONDS else self._deaths + 1
        # A worker that could not load the service is not retried at once.
        last = len(RESTART_PAUSES_SECONDS)
        pause = RESTART_PAUSES_SECONDS[min(self._deaths, last) - 1] or int(self.failed_to_load)
        if pause:
            logger.warning("A worker died; it is replaced in %s s", pause)
        self.pause(pause)

    def pause(self, seconds: float) -> None:
        """Delay the start of the next worker."""
        self.start_at = time.monotonic() + seconds

    def load(self, loaded: Event) -> draining.DrainingApplication:
        """Load the application in a worker, and listen. Exits with one line if the settings are bad."""
        # Not imported in the master: new workers load new code.
        import django  # noqa: PLC0415
        from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415

        try:
            django.setup(set_prefix=False)
            module = "config.server.internal_app" if self.kind == Kind.INTERNAL else "config.wsgi"
            application = import_module(module).application
        except ImproperlyConfigured as error:
            sys.exit(f"Configuration: {error}")
        draining_application = draining.DrainingApplication(application, self.listener)
        signal.signal(draining.SIGNAL, draining_application.drain)
        # From here on connections wait for this worker, which can drain.
        self.listener.listen(self._backlog)
        if self.kind == Kind.INTERNAL:
            threading.Thread(target=_end_with, args=(self._master,), daemon=True).start()
        else:
            from partners.monitoring import metrics  # noqa: PLC0415

            metrics.mark_serving(for_staff=self.kind == Kind.STAFF)
        # A garbage collection over all loaded modules would delay requests by some 70 ms.
        gc.collect()
        gc.freeze()
        loaded.set()
        return draining_application


def _end_with(master: int) -> None:
    """End this process when the master has died: a service whose workers are not replaced is not healthy."""
    while os.getppid() == master:
        time.sleep(MASTER_CHECK_SECONDS)
    shutil.rmtree(os.environ[METRICS_FOLDER], ignore_errors=True)
    os._exit(0)
