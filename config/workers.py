"""Workers that take turns: a restart, or a stop, in which no request is cut.

At SIGTERM a worker of granian closes connections that are idle, and what is on its way to it then is lost; so is
what waits at its socket. Here a worker accepts from a socket of the master's, which outlives it, and a worker that
is to end retires first: it accepts nothing more, ends each connection with the answer that it gives next, and
stops when none is left. The kernel spreads connections over the sockets; from one for all, whichever worker is awake
takes them all, and keeps them as long as they are kept.
"""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from typing import Any

from granian._granian import ListenerSpec
from granian._internal import load_target
from granian.log import logger
from granian.server.mp import MPServer, WorkerProcess

from config.connections import Bodies, connections

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]

# Workers are forked, from a master that has imported nothing of the service: a new one reads code and settings anew.
CONTEXT = get_context("fork")
# What tells a worker to retire.
RETIRE = signal.SIGUSR1
# How long a connection has for its last request. One that is silent for longer is closed.
RETIRING_SECONDS = 3.0
LOOK_SECONDS = 0.02
# Between two signals to a worker that has not stopped yet. CPython acts on a signal that comes just before its main
# thread waits for a lock, as granian's does, only with the next one.
AGAIN_SECONDS = 0.5
# A new worker that has not loaded the service by then will not.
LOADING_SECONDS = 60.0


class Worker:
    """The application as a worker serves it.

    listener: the descriptor of the socket from which the worker accepts.
    """

    def __init__(self, application: Application, listener: int) -> None:
        self._application = application
        self._listener = listener
        self._is_retiring = False
        with socket.socket(fileno=os.dup(listener)) as door:
            self._port = door.getsockname()[1]
        self._bodies = Bodies(self._port)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answers a request (PEP 3333)."""

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None, /) -> Any:
            if self._is_retiring:
                headers = [header for header in headers if header[0].lower() != "connection"]
                headers.append(("Connection", "close"))
            return start_response(status, headers, exc_info)

        if "CONTENT_LENGTH" in environ or "HTTP_TRANSFER_ENCODING" in environ:
            environ["wsgi.input"] = self._bodies.timed(environ["wsgi.input"])
        return self._application(environ, start)

    def retire(self, *_: object) -> None:
        """Accepts nothing from now on, and stops when the connections that there are have had their last answer."""
        if self._is_retiring:
            return
        self._is_retiring = True
        # granian goes on accepting from this descriptor, behind which nobody calls any more.
        with socket.create_server(("127.0.0.1", 0), backlog=1) as nobody:
            nobody.setblocking(False)  # noqa: FBT003 - its signature
            os.dup2(nobody.fileno(), self._listener, inheritable=False)
        threading.Thread(target=self._stop_when_left, name="retiring", daemon=True).start()

    def _stop_when_left(self) -> None:
        deadline = time.monotonic() + RETIRING_SECONDS
        try:
            while self._has_connections() and time.monotonic() < deadline:
                time.sleep(LOOK_SECONDS)
        finally:
            # Also where no descriptor is left to look at them.
            os.kill(os.getpid(), signal.SIGTERM)

    def _has_connections(self) -> bool:
        # granian does not tell.
        return any(True for _ in connections(self._port))


def load(target: str, own: int, doors: list[socket.socket], loaded: Event) -> Worker:
    """What a worker serves; runs in its main thread before it accepts anything.

    own: the number of the worker's socket among all that came along.
    """
    # The master is not to import anything of it.
    from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415

    # The master's handler came along; granian sets its own only after this.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        application: Any = load_target(target)
    except ImproperlyConfigured as error:
        sys.exit(f"Configuration: {error}")
    for number, door in enumerate(doors):
        if number != own:
            # Else it would outlive the workers whose it is.
            door.close()
    worker = Worker(application, doors[own].fileno())
    signal.signal(RETIRE, worker.retire)
    loaded.set()
    return worker


class Master(MPServer):
    """granian's master. SIGHUP replaces its workers one after another, SIGTERM and SIGINT stop them all."""

    def __init__(self, target: str, *, stopping_seconds: float, **options: Any) -> None:
        """target: the application, as module:name. stopping_seconds: for requests under way when a worker retires."""
        super().__init__(target, **options)
        self._stopping_seconds = stopping_seconds
        # Set by each worker once it serves.
        self._loaded: dict[WorkerProcess, Event] = {}
        # Whether it ends because no worker could load the service.
        self.has_failed = False

    def _init_shared_socket(self) -> None:
        # One for each worker, at the same port (SO_REUSEPORT).
        self._listeners = [
            ListenerSpec(self.bind_addr, self.bind_port, self.backlog).build() for _ in range(self.workers)
        ]
        self._doors = [socket.socket(fileno=listener.get_fd()) for listener in self._listeners]
        if hasattr(socket, "TCP_DEFER_ACCEPT"):
            for door in self._doors:
                # A connection is accepted when it has something to read: none is closed with its request on the way.
                door.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 1)

    def _drop_shared_socket(self) -> None:
        self.leave_doors()

    def leave_doors(self) -> None:
        """Lets go of the sockets: in the master when it stops, and in a child that serves nothing from the first."""
        for door in self._doors:
            door.close()

    def _spawn_worker(self, idx: int, target: Any, callback_loader: Any) -> WorkerProcess:  # type: ignore[override]
        loaded = CONTEXT.Event()
        # What granian hands to the worker.
        self._shd, self._sso = self._listeners[idx], self._doors[idx]  # type: ignore[assignment]
        worker = super()._spawn_worker(idx, target, partial(load, self.target, idx, self._doors, loaded))
        self._loaded[worker] = loaded
        return worker

    def _respawn_workers(self, workers: list[int], spawn_target: Any, target_loader: Any, delay: float = 0) -> None:
        for idx in workers:
            old = self.wrks[idx]
            if not _is_running(old):
                if not any(loaded.is_set() for loaded in self._loaded.values()):
                    # The first do not load, and others would not either.
                    self.has_failed = True
                    self.signal_handler_interrupt()  # type: ignore[no-untyped-call]
                    return
                self._loaded.pop(old)
                super()._respawn_workers([idx], spawn_target, target_loader)
            elif self.interrupt_signal or not self._replace(idx, spawn_target, target_loader):
                return

    def _replace(self, idx: int, spawn_target: Any, target_loader: Any) -> bool:
        """Puts a new worker in an old one's place once it serves; whether it does."""
        old, new = self.wrks[idx], self._spawn_worker(idx, spawn_target, target_loader)
        # Its failure is ours to handle: the old one goes on.
        new.interrupt_by_parent = True
        new.start()  # type: ignore[no-untyped-call]
        deadline = time.monotonic() + LOADING_SECONDS
        while not self._loaded[new].wait(LOOK_SECONDS):
            if not _is_running(new) or time.monotonic() > deadline:
                logger.error("A new worker does not start: the others stay as they are")
                new.inner.kill()
                self._loaded.pop(new)
                return False
        self.wrks[idx] = new
        new.interrupt_by_parent = False
        self._tell_to_retire([old])
        self._wait_for([old])
        return True

    def _stop_workers(self) -> None:
        # The master has closed the socket (not shut it down: granian's workers would spin); with them it is gone.
        self._tell_to_retire(self.wrks)
        self._wait_for(self.wrks)
        self.wrks.clear()

    def _tell_to_retire(self, workers: list[WorkerProcess]) -> None:
        for worker in workers:
            worker.interrupt_by_parent = True
            # One that has not loaded the service has no ear for it, nor anything to finish.
            _tell(worker, RETIRE if self._loaded.pop(worker).is_set() else signal.SIGKILL)

    def _wait_for(self, workers: list[WorkerProcess]) -> None:
        told = time.monotonic()
        deadline = told + RETIRING_SECONDS + self._stopping_seconds
        for worker in workers:
            # Not by join: granian's own thread joins it too, and then an ended one can look alive for a moment.
            while _is_running(worker) and time.monotonic() < deadline:
                time.sleep(LOOK_SECONDS)
                if time.monotonic() > told + AGAIN_SECONDS:
                    told = time.monotonic()
                    _tell(worker, RETIRE)
            if _is_running(worker):
                logger.warning("A worker is killed that did not stop in time")
                worker.inner.kill()
                worker.inner.join()


def _tell(worker: WorkerProcess, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(worker.inner.pid, number)


def _is_running(worker: WorkerProcess) -> bool:
    is_alive: bool = worker.inner.is_alive()
    return is_alive
