"""A thread that writes rows after the responses: requests neither wait for it nor fail with it."""

import threading
from collections.abc import Callable
from multiprocessing.util import Finalize
from queue import Empty, Full, Queue
from typing import Any

import structlog
from django.db import close_old_connections, connections

log = structlog.get_logger("partners.recording")

# Rows beyond these are dropped: a table that cannot be written must not fill the memory.
MAX_QUEUED = 1000
MAX_BATCH = 100
# After this time without a row, the thread gives its connection back.
IDLE_SECONDS = 10.0
# Of a process that stops: longer than any statement may take.
CLOSING_SECONDS = 10.0


class BackgroundWriter:
    """Writes rows in batches, in the order of `submit`, by a thread of this process that starts with the first row."""

    def __init__(self, write: Callable[[list[Any]], None]) -> None:
        """write: writes a batch of rows. What it raises is logged, and the batch is lost."""
        self._write = write
        self._queue: Queue[Any] = Queue(MAX_QUEUED)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, row: object) -> None:
        """Queue a row, or drop it if too many wait."""
        try:
            self._queue.put_nowait(row)
        except Full:
            log.warning("request not recorded: too many wait")
            return
        # Not alive in a process that was forked, either.
        if self._thread is None or not self._thread.is_alive():
            with self._lock:
                if self._thread is None or not self._thread.is_alive():
                    self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
                    self._thread.start()
                    # The server's workers are forked by multiprocessing, which runs neither atexit's functions nor
                    # what was registered before the fork.
                    Finalize(None, self.close, exitpriority=10)

    def close(self) -> None:
        """Write what is queued, within CLOSING_SECONDS, and end the thread."""
        thread = self._thread
        if thread is None or not thread.is_alive():
            return
        try:
            self._queue.put(None, timeout=CLOSING_SECONDS)
        except Full:
            return
        thread.join(CLOSING_SECONDS)

    def _run(self) -> None:
        try:
            while (batch := self._next_batch())[-1] is not None:
                self._write_batch(batch)
            self._write_batch(batch[:-1])
        finally:
            connections.close_all()

    def _next_batch(self) -> list[Any]:
        """Wait for a row; return it with those that are queued behind it. None, as the last one, ends the thread."""
        try:
            batch = [self._queue.get(timeout=IDLE_SECONDS)]
        except Empty:
            connections.close_all()
            batch = [self._queue.get()]
        while batch[-1] is not None and len(batch) < MAX_BATCH:
            try:
                batch.append(self._queue.get_nowait())
            except Empty:
                break
        return batch

    def _write_batch(self, batch: list[Any]) -> None:
        if not batch:
            return
        close_old_connections()
        try:
            self._write(batch)
        except Exception:
            # The partner misses lines of a list, no more.
            log.warning("requests could not be recorded", requests=len(batch), exc_info=True)
            # The next batch gets a connection that works, if there is one.
            connections.close_all()
