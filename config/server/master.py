"""The master process: starts the workers, replaces those that die, and at SIGHUP replaces all of them one by one."""

import select
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.synchronize import Event

from granian.log import logger

from config.server import draining
from config.server.granian_internals import WorkerFactory
from config.server.worker import CONTEXT, Slot, Worker

# Between two checks of the workers without a signal, and while the master waits for a worker.
CHECK_SECONDS = 0.5
POLL_SECONDS = 0.02
# Between two signals to a draining worker: CPython handles a signal that arrives just before its main thread waits for
# a lock, as granian's does, only with the next one.
REPEAT_SECONDS = 0.5
# For a new worker to load the service.
LOADING_SECONDS = 60.0
# After the system could not start a process.
RETRY_SECONDS = 1.0
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


class Master:
    """Keeps a worker in each slot. SIGHUP replaces the workers one by one, SIGTERM and SIGINT stop them."""

    def __init__(self, slots: Sequence[Slot], factory: WorkerFactory, *, stopping_seconds: float) -> None:
        """stopping_seconds: for requests of a draining worker."""
        self._slots = slots
        self._factory = factory
        self._stopping_seconds = stopping_seconds
        # Whether it ended because no worker could load the service.
        self.has_failed = False
        # Workers that a reload has replaced and that have not ended.
        self._draining: list[Worker] = []
        self._is_stopping = self._reload_requested = False
        # Readable after a signal.
        self._wakeup, self._waker = socket.socketpair()
        self._wakeup.setblocking(False)  # noqa: FBT003 - its signature
        self._waker.setblocking(False)  # noqa: FBT003

    def serve(self) -> None:
        """Serve until SIGTERM or SIGINT, or until no worker can load the service. Call it in the main thread."""
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, self._handle_signal)
        while not self._is_stopping:
            self._replace_dead()
            if self._reload_requested:
                self._reload()
            else:
                self._wait(CHECK_SECONDS)
        self._stop()

    def _handle_signal(self, number: int, _frame: object) -> None:
        if number == signal.SIGHUP:
            self._reload_requested = True
        elif number != signal.SIGCHLD:
            self._is_stopping = True

    def _wait(self, seconds: float) -> None:
        """Wait for a signal, including the end of a child."""
        if select.select([self._wakeup], [], [], seconds)[0]:
            with suppress(BlockingIOError):
                while self._wakeup.recv(4096):
                    pass

    def _release(self, *, keep: Slot | None = None) -> None:
        """Drop the master's signal handlers and sockets; runs first in each forked process.

        keep: the process's slot. A copy of another socket would outlive the worker that it belongs to.
        """
        signal.set_wakeup_fd(-1)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        self._wakeup.close()
        self._waker.close()
        for slot in self._slots:
            if slot is not keep:
                slot.close()

    def _replace_dead(self, *, skip: Slot | None = None) -> None:
        """Start the workers that have ended and whose pause is over. skip: a slot to leave alone."""
        if self._is_stopping:
            return
        for slot in self._slots:
            if slot is skip:
                continue
            if slot.worker is not None and not slot.worker.is_running:
                slot.empty(slot.worker)
            if slot.worker is None and time.monotonic() >= slot.start_at:
                slot.worker = self._spawn(slot)
                if slot.worker is None:
                    slot.pause(RETRY_SECONDS)
                else:
                    slot.failed_to_load = False
        if all(slot.failed_to_load for slot in self._slots if slot.is_essential):
            self.has_failed = self._is_stopping = True

    def _spawn(self, slot: Slot) -> Worker | None:
        """Start a worker; log and return None if the system cannot."""
        try:
            slot.open()
            loaded = CONTEXT.Event()
            process = slot.process(self._factory, partial(self._load, slot, loaded))
            process.start()
        except OSError as error:
            logger.error("A worker cannot be started: %s", error.strerror)
            return None
        return Worker(process, loaded, slot.draining_signal)

    def _load(self, slot: Slot, loaded: Event) -> object:
        self._release(keep=slot)
        return slot.load(loaded)

    def _reload(self) -> None:
        self._reload_requested = False
        for slot in self._slots:
            # New code may help workers that died.
            slot.start_at = 0.0
        self._replace_dead()
        for slot in self._slots:
            if slot.worker is not None and slot.worker.is_running and not self._replace(slot, slot.worker):
                break

    def _replace(self, slot: Slot, old: Worker) -> bool:
        """Start a new worker, then drain the old one. Return whether the reload goes on."""
        new = self._spawn(slot)
        if new is None:
            return False
        deadline = time.monotonic() + LOADING_SECONDS
        while not new.loaded.is_set():
            if self._is_stopping or not new.is_running or time.monotonic() > deadline:
                if not self._is_stopping:
                    logger.error("A new worker does not start; the old workers stay")
                new.kill()
                return False
            self._replace_dead(skip=slot)
            self._wait(POLL_SECONDS)
        slot.worker = new
        self._draining.append(old)
        old.drain()
        self._wait_for([old])
        return not self._is_stopping

    def _stop(self) -> None:
        # Closed, not shut down, which would make granian's workers spin.
        for slot in self._slots:
            slot.close()
        workers = [slot.worker for slot in self._slots if slot.worker is not None]
        for worker in workers:
            worker.drain()
        self._wait_for([*workers, *self._draining])

    def _wait_for(self, workers: Sequence[Worker]) -> None:
        """Wait until workers have drained, and kill those that take too long; replace others that die meanwhile.

        A signal to stop ends the wait for workers that a reload replaces: `_stop` waits for them.
        """
        was_stopping = self._is_stopping
        sent = time.monotonic()
        deadline = sent + draining.SECONDS + self._stopping_seconds
        for worker in workers:
            while worker.is_running and time.monotonic() < deadline:
                if self._is_stopping and not was_stopping:
                    return
                self._wait(POLL_SECONDS)
                self._replace_dead()
                if time.monotonic() > sent + REPEAT_SECONDS:
                    sent = time.monotonic()
                    for each in workers:
                        each.drain()
            if worker.is_running:
                logger.warning("A worker did not stop in time and is killed")
                worker.kill()
        self._draining.clear()
