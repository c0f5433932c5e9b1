"""The server's master: starts the workers, replaces those that die, and replaces all of them at SIGHUP, one by one.

A worker's socket: config/server/worker.py. How a worker ends without a lost request: config/server/draining.py.
"""

import select
import signal
import socket
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.synchronize import Event

from granian.log import logger

from config.server import draining
from config.server.granian_internals import WorkerFactory
from config.server.internal_port import InternalPort
from config.server.worker import Slot, Worker, bound_socket, load

# Workers are forked, from a master that has imported nothing of the service: a new one reads code and settings again.
CONTEXT = get_context("fork")
# Between two looks at the workers where no signal wakes the master, and while it waits for one of them.
LOOK_SECONDS = 0.5
POLL_SECONDS = 0.02
# Between two signals to a worker that has not stopped yet. CPython acts on a signal that comes just before its main
# thread waits for a lock, as granian's does, only with the next one.
REPEAT_SECONDS = 0.5
# A new worker that has not loaded the service by then will not.
LOADING_SECONDS = 60.0
# Where the system had no room for a process.
TRY_AGAIN_SECONDS = 1.0
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


class Master:
    """Keeps a worker in each slot. SIGHUP replaces the workers one after another, SIGTERM and SIGINT stop them all."""

    def __init__(
        self, slots: Sequence[Slot], internal: InternalPort | None, factory: WorkerFactory, *, stopping_seconds: float
    ) -> None:
        """stopping_seconds: for requests under way when a worker drains."""
        self._slots = slots
        self._internal = internal
        self._factory = factory
        self._stopping_seconds = stopping_seconds
        # Whether it ends because no worker could load the service.
        self.has_failed = False
        # Those that a reload has replaced and that have not ended.
        self._draining: list[Worker] = []
        self._is_stopping = self._is_to_reload = False
        # Readable when a signal has come.
        self._wakeup, self._waker = socket.socketpair()
        self._wakeup.setblocking(False)  # noqa: FBT003 - its signature
        self._waker.setblocking(False)  # noqa: FBT003

    def serve(self) -> None:
        """Serves until SIGTERM or SIGINT, or until no worker can load the service. Call it in the main thread."""
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, self._note_signal)
        while not self._is_stopping:
            self._look_after()
            if self._is_to_reload:
                self._reload()
            else:
                self._wait(LOOK_SECONDS)
        self._stop()

    def _forget(self, *, but: Slot | None = None) -> None:
        """What a process that is forked from the master does first: it lets go of what is the master's.

        but: whose socket it is to serve from. A socket that it kept would outlive the worker whose it is.
        """
        signal.set_wakeup_fd(-1)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        self._wakeup.close()
        self._waker.close()
        for slot in self._slots:
            if slot is not but:
                slot.listener.close()

    def _note_signal(self, number: int, _frame: object) -> None:
        if number == signal.SIGHUP:
            self._is_to_reload = True
        elif number != signal.SIGCHLD:
            self._is_stopping = True

    def _wait(self, seconds: float) -> None:
        """Waits for a signal, which the end of a child is too, but for no longer than that."""
        if select.select([self._wakeup], [], [], seconds)[0]:
            with suppress(BlockingIOError):
                while self._wakeup.recv(4096):
                    pass

    def _look_after(self, *, but: Slot | None = None) -> None:
        """Starts what has ended and is to start again, but for the worker of one slot."""
        if self._is_stopping:
            return
        if self._internal is not None:
            self._internal.keep_running(self._forget)
        for slot in self._slots:
            if slot is but:
                continue
            if slot.worker is not None and not slot.worker.is_running:
                slot.note_death(slot.worker)
            if slot.worker is None and time.monotonic() >= slot.not_before:
                self._start(slot)
        if all(slot.has_refused for slot in self._slots):
            # Another would not load it either.
            self.has_failed = self._is_stopping = True

    def _start(self, slot: Slot) -> None:
        """Puts a worker into an empty slot, or tries again later where the system has no room for one."""
        try:
            if slot.listener.fileno() < 0:
                slot.listener = bound_socket(slot.address)
            slot.worker = self._spawn(slot)
        except OSError as error:
            logger.error("A worker cannot be started: %s", error.strerror)
            slot.pause(TRY_AGAIN_SECONDS)
        else:
            slot.has_refused = False

    def _spawn(self, slot: Slot) -> Worker:
        loaded = CONTEXT.Event()
        process = self._factory.process(slot.listener, partial(self._load, slot, loaded))
        process.start()
        return Worker(process, loaded)

    def _load(self, slot: Slot, loaded: Event) -> draining.DrainingApplication:
        """What a worker serves; runs in its main thread before it accepts anything."""
        self._forget(but=slot)
        return load(slot, loaded)

    def _reload(self) -> None:
        self._is_to_reload = False
        if self._internal is not None:
            self._internal.renew(self._forget)
        for slot in self._slots:
            # New code may be what the dead ones need.
            slot.not_before = 0.0
        self._look_after()
        for slot in self._slots:
            if slot.worker is not None and slot.worker.is_running and not self._replace(slot, slot.worker):
                break

    def _replace(self, slot: Slot, old: Worker) -> bool:
        """Puts a new worker in a living one's place once it serves; whether it does."""
        try:
            new = self._spawn(slot)
        except OSError as error:
            logger.error("A new worker cannot be started: %s", error.strerror)
            return False
        deadline = time.monotonic() + LOADING_SECONDS
        while not new.loaded.is_set():
            if self._is_stopping or not new.is_running or time.monotonic() > deadline:
                if not self._is_stopping:
                    logger.error("A new worker does not start: the others stay as they are")
                new.process.kill()
                new.process.join()
                return False
            self._look_after(but=slot)
            self._wait(POLL_SECONDS)
        slot.worker = new
        self._draining.append(old)
        old.tell_to_drain()
        self._wait_for([old])
        return not self._is_stopping

    def _stop(self) -> None:
        # Closed and not shut down, or granian's workers would spin; once the workers have let go too, it is gone.
        for slot in self._slots:
            slot.listener.close()
        workers = [slot.worker for slot in self._slots if slot.worker is not None]
        for worker in workers:
            worker.tell_to_drain()
        self._wait_for([*workers, *self._draining])
        if self._internal is not None:
            self._internal.stop()

    def _wait_for(self, workers: Iterable[Worker]) -> None:
        """Waits until workers have drained, and kills those that do not in time.

        The others are looked after meanwhile; a signal to stop ends the wait for those that a reload replaces.
        """
        was_stopping = self._is_stopping
        sent = time.monotonic()
        deadline = sent + draining.SECONDS + self._stopping_seconds
        for worker in workers:
            while worker.is_running and time.monotonic() < deadline:
                if self._is_stopping and not was_stopping:
                    return
                self._wait(POLL_SECONDS)
                self._look_after()
                if time.monotonic() > sent + REPEAT_SECONDS:
                    sent = time.monotonic()
                    worker.tell_to_drain()
            if worker.is_running:
                logger.warning("A worker is killed that did not stop in time")
                worker.process.kill()
                worker.process.join()
        self._draining.clear()
