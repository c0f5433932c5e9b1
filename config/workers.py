"""The server's master and workers: rolling restarts without a lost request, and new workers for those that die.

granian has no rolling restart of its own: at SIGTERM a worker closes its idle connections, and a request that is on its
way over one of them is lost. Here a worker drains first: it accepts nothing more, ends each connection with its next
answer, and stops when none is left. Each worker accepts from a socket of its own (SO_REUSEPORT: the kernel spreads the
connections), which the master holds too, so that a successor takes over what waits there. The socket of a worker that
died is closed at once: nobody waits at a socket without a worker.

granian has no public interface for this. What is used of its internals stands here alone (docs/dependencies.md).
"""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from typing import Any

from granian._granian import SocketHolder
from granian._internal import load_target
from granian.log import logger
from granian.server.mp import MPServer, WorkerProcess

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]

# Workers are forked, from a master that has imported nothing of the service: a new one reads code and settings again.
CONTEXT = get_context("fork")
# What tells a worker to drain.
DRAIN = signal.SIGUSR1
# How long a connection has for its last request. One that is idle for longer is closed.
DRAINING_SECONDS = 3.0
POLL_SECONDS = 0.02
# Between two signals to a worker that has not stopped yet. CPython acts on a signal that comes just before its main
# thread waits for a lock, as granian's does, only with the next one.
REPEAT_SECONDS = 0.5
# A new worker that has not loaded the service by then will not.
LOADING_SECONDS = 60.0
# Before a worker that died is replaced, by how often its successors have died too; a life of STEADY_SECONDS counts as
# a new beginning.
RESTART_PAUSES_SECONDS = (0, 1, 2, 4, 8, 16, 30)
STEADY_SECONDS = 60.0


class Worker:
    """The WSGI application as a worker serves it. listener: the socket from which the worker accepts."""

    def __init__(self, application: Application, listener: socket.socket) -> None:
        self._application = application
        self._listener = listener
        self._port = listener.getsockname()[1]
        self._is_draining = False

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answers a request (PEP 3333)."""

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None, /) -> Any:
            if self._is_draining:
                headers = [header for header in headers if header[0].lower() != "connection"]
                headers.append(("Connection", "close"))
            return start_response(status, headers, exc_info)

        return self._application(environ, start)

    def drain(self, *_: object) -> None:
        """Accepts nothing from now on, and stops when each open connection has had its last answer."""
        if self._is_draining:
            return
        self._is_draining = True
        # granian goes on accepting from this descriptor, to which nobody connects any more.
        with socket.create_server(("127.0.0.1", 0), backlog=1) as nobody:
            nobody.setblocking(False)  # noqa: FBT003 - its signature
            os.dup2(nobody.fileno(), self._listener.fileno(), inheritable=False)
        threading.Thread(target=self._stop_when_drained, name="drain", daemon=True).start()

    def _stop_when_drained(self) -> None:
        deadline = time.monotonic() + DRAINING_SECONDS
        try:
            # granian does not say which connections it has.
            while any(_connections(self._port)) and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
        finally:
            # Also where no descriptor is left to look at them.
            os.kill(os.getpid(), signal.SIGTERM)


def _connections(port: int) -> Iterator[bool]:
    """True for each connection that this process has at its own port."""
    for descriptor in os.listdir("/dev/fd"):  # noqa: PTH208 - names, not paths
        try:
            duplicate = os.dup(int(descriptor))
        except OSError:  # closed since it was listed
            continue
        try:
            end = socket.socket(fileno=duplicate)
        except OSError:  # no socket
            os.close(duplicate)
            continue
        with closing(end):
            is_tcp = end.family in {socket.AF_INET, socket.AF_INET6} and end.type == socket.SOCK_STREAM
            if is_tcp and not end.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) and end.getsockname()[1] == port:
                yield True


def load(target: str, own: int, listeners: list[socket.socket], backlog: int, loaded: Event) -> Worker:
    """What a worker serves; runs in its main thread before it accepts anything.

    own: the number of the worker's socket among all that came along.
    """
    # The master's handler came along; granian sets its own only after this.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for number, listener in enumerate(listeners):
        if number != own:
            # Else it would outlive the worker whose it is.
            listener.close()
    # The master is not to import anything of the service.
    from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415

    try:
        application: Any = load_target(target)
    except ImproperlyConfigured as error:
        sys.exit(f"Configuration: {error}")
    worker = Worker(application, listeners[own])
    signal.signal(DRAIN, worker.drain)
    # From here on connections wait for this worker, which is ready to be told of.
    listeners[own].listen(backlog)
    from partners.observing import metrics  # noqa: PLC0415 - as above

    metrics.mark_serving()
    loaded.set()
    return worker


class Master(MPServer):
    """granian's master. SIGHUP replaces its workers one after another, SIGTERM and SIGINT stop them all."""

    def __init__(self, target: str, *, stopping_seconds: float, **options: Any) -> None:
        """target: the application, as module:name. stopping_seconds: for requests under way when a worker drains.

        Raises OSError where nobody can listen at its address.
        """
        super().__init__(target, **options)
        # By the worker's number.
        self._listeners: list[socket.socket] = []
        for _ in range(self.workers):
            self._bind(len(self._listeners))
        self._stopping_seconds = stopping_seconds
        # Set by each worker once it serves.
        self._loaded: dict[WorkerProcess, Event] = {}
        # By the worker's number: deaths in a row, and whether its successor waits for the end of a pause.
        self._deaths: dict[int, int] = {}
        self._paused: set[int] = set()
        # What granian starts a worker with.
        self._targets: tuple[Any, Any] = (None, None)
        # Those that a reload has replaced and that have not ended.
        self._draining: list[WorkerProcess] = []
        self._is_reloading = False
        # Whether it ends because no worker could load the service.
        self.has_failed = False

    def _bind(self, idx: int) -> None:
        """Makes the socket of a worker. Nobody can connect to it before the worker listens."""
        listener = socket.socket(socket.AF_INET6 if ":" in self.bind_addr else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hasattr(socket, "TCP_DEFER_ACCEPT"):
            # A connection is accepted when it has something to read: none is closed with its request on the way.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 1)
        listener.bind((self.bind_addr, self.bind_port))
        self._listeners[idx : idx + 1] = [listener]

    def _init_shared_socket(self) -> None:
        """Nothing: each worker's is there."""

    def _drop_shared_socket(self) -> None:
        self.close_listeners()

    def close_listeners(self) -> None:
        """Lets go of the sockets: in the master when it stops, and in a child that serves no partner."""
        for listener in self._listeners:
            listener.close()

    def _spawn_worker(self, idx: int, target: Any, callback_loader: Any) -> WorkerProcess:  # type: ignore[override]
        loaded = CONTEXT.Event()
        # What granian hands to the worker: its own object for the socket, and Python's.
        holder: Any = SocketHolder
        self._sso = self._listeners[idx]
        self._shd = holder(self._sso.fileno(), uds=False, backlog=self.backlog)
        loader = partial(load, self.target, idx, self._listeners, self.backlog, loaded)
        worker = super()._spawn_worker(idx, target, loader)
        self._loaded[worker] = loaded
        return worker

    def _reload(self, spawn_target: Any, target_loader: Any) -> None:
        self._is_reloading = True
        # New code may be what the dead ones need.
        self._paused.clear()
        try:
            super()._reload(spawn_target, target_loader)  # type: ignore[no-untyped-call]
        finally:
            self._is_reloading = False

    def _respawn_workers(self, workers: list[int], spawn_target: Any, target_loader: Any, delay: float = 0) -> None:
        self._targets = spawn_target, target_loader
        self._replace_dead()
        if self._is_reloading:
            for idx, worker in enumerate(self.wrks):
                if _is_running(worker) and not self._replace(idx):
                    break
        if self.interrupt_signal:
            # granian may have cleared what wakes it up since the signal came.
            self.main_loop_interrupt.set()

    def _replace_dead(self, *, but: int | None = None) -> None:
        """Replaces the workers that died, but for one. All are looked at: granian forgets a death that it is told of
        while it handles another.
        """
        for idx, worker in enumerate(self.wrks):
            if idx != but and not self.interrupt_signal and not _is_running(worker):
                self._note_death(idx)
                if idx not in self._paused and not self.has_failed:
                    self._start_successor(idx)

    def _note_death(self, idx: int) -> None:
        """Closes the socket of a worker that died, so that nobody waits there, and decides when it is replaced."""
        old = self.wrks[idx]
        loaded = self._loaded.pop(old, None)
        if loaded is None:  # done already
            return
        has_refused = not loaded.is_set() and (old.inner.exitcode or 0) > 0
        if has_refused and not any(map(_is_running, self.wrks)):
            # Another would not load either.
            self.has_failed = True
            self.signal_handler_interrupt()  # type: ignore[no-untyped-call]
            return
        self._listeners[idx].close()
        is_steady = time.monotonic() - old.birth > STEADY_SECONDS
        deaths = self._deaths[idx] = 1 if is_steady else self._deaths.get(idx, 0) + 1
        # One that could not load the service is not tried again at once.
        pause = RESTART_PAUSES_SECONDS[min(deaths, len(RESTART_PAUSES_SECONDS)) - 1] or int(has_refused)
        if pause:
            logger.warning("A worker that died is replaced in %s s", pause)
            self._pause(idx, pause)

    def _pause(self, idx: int, seconds: float) -> None:
        self._paused.add(idx)
        timer = threading.Timer(seconds, self._end_pause, [idx])
        timer.daemon = True
        timer.start()

    def _end_pause(self, idx: int) -> None:
        self._paused.discard(idx)
        # What makes granian's loop call for a replacement.
        self.interrupt_children.append(idx)
        self.main_loop_interrupt.set()

    def _start_successor(self, idx: int) -> None:
        """Puts a new worker in the place of one that died, or tries again later where there is no room for one."""
        try:
            self._bind(idx)
            new = self._spawn_worker(idx, *self._targets)
            new.start()  # type: ignore[no-untyped-call]
        except OSError as error:
            logger.error("A worker cannot be started: %s", error.strerror)
            self._pause(idx, RESTART_PAUSES_SECONDS[1])
        else:
            self.wrks[idx] = new

    def _replace(self, idx: int) -> bool:
        """Puts a new worker in a living one's place once it serves; whether it does."""
        try:
            new = self._spawn_worker(idx, *self._targets)
            # Its failure is ours to handle: the old one goes on.
            new.interrupt_by_parent = True
            new.start()  # type: ignore[no-untyped-call]
        except OSError as error:
            logger.error("A new worker cannot be started: %s", error.strerror)
            return False
        deadline = time.monotonic() + LOADING_SECONDS
        while not self._loaded[new].wait(POLL_SECONDS):
            self._replace_dead(but=idx)
            if not _is_running(new) or time.monotonic() > deadline or self.interrupt_signal:
                if not self.interrupt_signal:
                    logger.error("A new worker does not start: the others stay as they are")
                new.inner.kill()
                self._loaded.pop(new)
                return False
        old, self.wrks[idx] = self.wrks[idx], new
        new.interrupt_by_parent = False
        self._draining.append(old)
        self._tell_to_drain([old])
        self._wait_for([old])
        # Looked at here, since it may have died before it was the master's to look after.
        self._replace_dead()
        return True

    def _stop_workers(self) -> None:
        # The master has closed the socket (not shut it down: granian's workers would spin); with them it is gone.
        self._tell_to_drain(self.wrks)
        self._wait_for([*self.wrks, *self._draining])
        self.wrks.clear()
        # Else granian takes a worker that died on its own for a failure of the stop.
        self.interrupt_children.clear()

    def _tell_to_drain(self, workers: list[WorkerProcess]) -> None:
        for worker in workers:
            worker.interrupt_by_parent = True
            loaded = self._loaded.pop(worker, None)
            # One that has not loaded the service does not know the signal, nor has it anything to finish.
            _send(worker, DRAIN if loaded and loaded.is_set() else signal.SIGKILL)

    def _wait_for(self, workers: list[WorkerProcess]) -> None:
        """Waits until workers have drained, and kills those that do not in time.

        The others are looked after meanwhile; a signal to stop ends the wait for those that a reload replaces.
        """
        is_stopping = self.interrupt_signal
        sent = time.monotonic()
        deadline = sent + DRAINING_SECONDS + self._stopping_seconds
        for worker in workers:
            # Not by join: granian's own thread joins it too, and then an ended one can look alive for a moment.
            while _is_running(worker) and time.monotonic() < deadline:
                if self.interrupt_signal and not is_stopping:
                    return
                time.sleep(POLL_SECONDS)
                self._replace_dead()
                if time.monotonic() > sent + REPEAT_SECONDS:
                    sent = time.monotonic()
                    _send(worker, DRAIN)
            if _is_running(worker):
                logger.warning("A worker is killed that did not stop in time")
                worker.inner.kill()
                worker.inner.join()
        self._draining.clear()


def _send(worker: WorkerProcess, number: signal.Signals) -> None:
    # A process that has been waited for has no number of its own any more.
    if _is_running(worker):
        with suppress(ProcessLookupError):
            os.kill(worker.inner.pid, number)


def _is_running(worker: WorkerProcess) -> bool:
    is_alive: bool = worker.inner.is_alive()
    return is_alive
