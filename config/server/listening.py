"""Workers that serve requests: partners', staff's if they have a port, or those of the internal port.

Each accepts from a socket of its own, those for partners with SO_REUSEPORT: the kernel spreads the connections. The
master holds the sockets too, so that after a reload the successor takes over the connections that wait there. If a
worker dies, its socket is closed at once: no connection waits at a socket without a worker.
"""

import gc
import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable
from enum import Enum, auto
from importlib import import_module
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from typing import Any

from config.server import draining
from config.server.granian_internals import WorkerFactory
from config.server.worker import Slot

# Read by prometheus_client: the folder of all workers' metrics (partners/monitoring/multiprocess.py).
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def require_free(host: str, port: int) -> None:
    """Raise OSError if a program listens there. A second service would go unnoticed: workers share their port."""
    with _new_socket(host) as probe:
        probe.bind((host, port))


def _new_socket(host: str) -> socket.socket:
    new = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    new.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return new


class Kind(Enum):
    """What a worker serves. PARTNERS: everything, if staff have no port."""

    PARTNERS = auto()
    STAFF = auto()
    INTERNAL = auto()


class ListeningSlot(Slot):
    """The place of a worker that serves from a socket."""

    draining_signal = draining.SIGNAL

    def __init__(self, host: str, port: int, kind: Kind, *, backlog: int) -> None:
        """backlog: connections that wait to be accepted. Raises OSError if the address cannot be bound."""
        super().__init__()
        self.kind = kind
        self.is_essential = kind != Kind.INTERNAL
        self._address = (host, port)
        self._backlog = backlog
        self._bind()

    def open(self) -> None:
        """Open the socket unless it is open. Raises OSError."""
        if self.listener.fileno() < 0:
            self._bind()

    def close(self) -> None:
        """Close the socket."""
        self.listener.close()

    def _bind(self) -> None:
        """Open the socket. Connections are refused until a worker listens. Raises OSError."""
        self.listener = _new_socket(self._address[0])
        try:
            # Not for the internal port: a second service on it would go unnoticed.
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, self.kind != Kind.INTERNAL)
            self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.listener.bind(self._address)
        except OSError:
            self.listener.close()
            raise

    def process(self, factory: WorkerFactory, load: Callable[[], Any]) -> BaseProcess:
        """Return a process of granian, not yet started."""
        return factory.process(self.listener, load)

    def load(self, loaded: Event) -> draining.DrainingApplication:
        """Load the application in a worker, and listen. Exits with one line if the settings are bad."""
        # All that is loaded stays: looking for garbage meanwhile takes a sixth of the time.
        gc.disable()
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
        # A garbage collection over all loaded modules would delay requests by some 70 ms.
        gc.collect()
        gc.freeze()
        gc.enable()
        # The master drains a worker that has loaded, and kills another: so this comes before the first connection.
        loaded.set()
        try:
            self.listener.listen(self._backlog)
        except OSError:
            loaded.clear()
            raise
        threading.Thread(target=self._end_with_master, args=(draining_application,), daemon=True).start()
        if self.kind != Kind.INTERNAL:
            from partners.monitoring import metrics  # noqa: PLC0415

            metrics.mark_serving(for_staff=self.kind == Kind.STAFF)
        return draining_application

    def _end_with_master(self, draining_application: draining.DrainingApplication) -> None:
        """End this process when the master has died: a service whose workers are not replaced is not healthy."""
        self.wait_for_master_to_die()
        if self.kind != Kind.INTERNAL:
            # Its port is free for a successor of the service.
            draining_application.drain()
            return
        shutil.rmtree(os.environ[METRICS_FOLDER], ignore_errors=True)
        os._exit(0)
