"""A process that the master keeps running, and its slot: how it is started, and when a successor may start."""

import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from typing import Any

from granian.log import logger

from config.server.granian_internals import WorkerFactory

# Workers are forked from a master that has not imported the service, so that new ones load new code and settings.
CONTEXT = get_context("fork")
# Before a worker that died is replaced, by the number of deaths in a row. After STEADY_SECONDS a death is the first.
RESTART_PAUSES_SECONDS = (0, 1, 2, 4, 8, 16, 30)
STEADY_SECONDS = 60.0
MASTER_CHECK_SECONDS = 1.0


class Worker:
    """A process. loaded: set once it has loaded the service. draining_signal: ends it in order after that."""

    def __init__(self, process: BaseProcess, loaded: Event, draining_signal: signal.Signals) -> None:
        self.process = process
        self.loaded = loaded
        self.started = time.monotonic()
        self._draining_signal = draining_signal

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self.process.is_alive()

    @property
    def failed_to_load(self) -> bool:
        """Whether the process ended because it could not load the service."""
        return not self.loaded.is_set() and (self.process.exitcode or 0) > 0

    def drain(self) -> None:
        """Signal the worker to finish what it does and end; kill it if it has not loaded the service."""
        # The process number of a process that has been waited for may belong to another.
        if self.is_running and self.process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, self._draining_signal if self.loaded.is_set() else signal.SIGKILL)

    def kill(self) -> None:
        """Kill the process and wait for its end."""
        self.process.kill()
        self.process.join()


class Slot(ABC):
    """The place of one worker. worker: None while the slot is empty."""

    # Whether the service is of no use without it.
    is_essential = False
    draining_signal: signal.Signals

    def __init__(self) -> None:
        self._master = os.getpid()
        self._deaths = 0
        self.worker: Worker | None = None
        self.start_at = 0.0
        # Whether the last worker could not load the service.
        self.failed_to_load = False

    @abstractmethod
    def open(self) -> None:
        """Open what the worker needs, unless it is open. Raises OSError."""

    @abstractmethod
    def close(self) -> None:
        """Close what `open` opened."""

    @abstractmethod
    def process(self, factory: WorkerFactory, load: Callable[[], Any]) -> BaseProcess:
        """Return a process, not yet started, that calls `load` in its main thread."""

    @abstractmethod
    def load(self, loaded: Event) -> object:
        """Load the service in a worker. Exits with one line if the settings are bad."""

    def empty(self, worker: Worker) -> None:
        """Remove a worker that died, and decide when a successor starts."""
        self.worker = None
        self.close()
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

    def wait_for_master_to_die(self) -> None:
        """Return when the master has ended: the workers that die then are not replaced."""
        while os.getppid() == self._master:
            time.sleep(MASTER_CHECK_SECONDS)
