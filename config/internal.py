"""The internal port: health and metrics of all workers, answered by a process beside them.

Nothing of it is on the public port. It is apart from the workers, so that it answers while all of their threads are
busy, and it needs none of them. The master looks after it, and imports nothing of the service for that: after a
reload the new process is of the new code, as the workers are.
"""

import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.process import BaseProcess

from config.workers import Master

CONTEXT = get_context("fork")
# prometheus_client's own name for the folder that all processes' metrics are in (partners/observing/folder.py).
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
RESTART_SECONDS = 1.0


class InternalPort:
    """The port, the folder of the metrics, and the process that answers."""

    def __init__(self, host: str, port: int, *, close_listeners: Callable[[], None]) -> None:
        """Begins to listen. Raises OSError where that cannot be.

        close_listeners: what the process does first, as a child of the master that serves no partner.
        """
        self._close_listeners = close_listeners
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family)
        self._folder = tempfile.mkdtemp(prefix="psi-metrics-")
        # For the workers too, which are this process's children.
        os.environ[FOLDER] = self._folder
        self._process: BaseProcess | None = None

    def start(self) -> None:
        """Starts the process that answers; one that dies is replaced."""
        process = CONTEXT.Process(
            target=_answer,
            args=(self._listener, self._folder, os.getpid(), self._close_listeners),
            name="internal",
            daemon=True,
        )
        self._process = process
        process.start()
        threading.Thread(target=self._look_after, args=(process,), name="internal", daemon=True).start()

    def renew(self) -> None:
        """Replaces the process by one of today's code and settings."""
        old = self._process
        self.start()
        if old is not None:
            old.terminate()

    def stop(self) -> None:
        """Ends the process and removes the folder."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.join()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _look_after(self, process: BaseProcess) -> None:
        process.join()
        time.sleep(RESTART_SECONDS)
        # A master that has crashed still waits for its workers.
        if process is self._process and threading.main_thread().is_alive():
            self.start()


def listen(host: str, port: int, server: Master) -> None:
    """Has granian's master `server` look after the internal port; port 0 is none.

    Raises OSError where nobody can listen there.
    """
    if not port:
        return
    internal = InternalPort(host, port, close_listeners=server.close_listeners)
    server.on_startup(internal.start)
    server.on_reload(internal.renew)
    server.on_shutdown(internal.stop)


def _answer(listener: socket.socket, folder: str, master: int, close_listeners: Callable[[], None]) -> None:
    """What the process does until it is ended, or until there is no master any more."""
    close_listeners()
    # The master's handlers came along.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    import django  # noqa: PLC0415 - here, and not in the master

    django.setup(set_prefix=False)
    from config.internal_answers import InternalServer  # noqa: PLC0415 - only now with settings

    server = InternalServer(listener)
    while os.getppid() == master:
        server.handle_request()
    shutil.rmtree(folder, ignore_errors=True)
    # A question that nobody answers must not keep it.
    os._exit(0)
