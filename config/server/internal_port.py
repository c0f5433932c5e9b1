"""The internal port: health and metrics of all workers, answered by a process beside them.

Nothing of it is on the public port. It is a process of its own, so that it answers while all threads of the workers are
busy. The master (config/server/master.py) starts it and imports nothing of the service: after a reload the new process
runs the new code, as the workers do.
"""

import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.process import BaseProcess

from granian.log import logger

CONTEXT = get_context("fork")
# prometheus_client's own name for the folder that all processes' metrics are in (partners/monitoring/multiprocess.py).
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
RESTART_SECONDS = 1.0


class InternalPort:
    """The port, the folder of the metrics, and the process that answers."""

    def __init__(self, host: str, port: int) -> None:
        """Begins to listen. Raises OSError where that cannot be."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family)
        self._folder = tempfile.mkdtemp(prefix="psi-metrics-")
        # For the workers too, which are this process's children.
        os.environ[FOLDER] = self._folder
        self._process: BaseProcess | None = None
        self._not_before = 0.0

    def keep_running(self, forget: Callable[[], None]) -> None:
        """Starts the process that answers where there is none; one that died, a moment later.

        forget: what a child of the master that serves nobody does first.
        """
        if self._process is not None and not self._process.is_alive():
            self._process = None
            self._not_before = time.monotonic() + RESTART_SECONDS
        if self._process is None and time.monotonic() >= self._not_before:
            arguments = (self._listener, self._folder, os.getpid(), forget)
            process = CONTEXT.Process(target=_answer, args=arguments, name="internal", daemon=True)
            try:
                process.start()
            except OSError as error:
                logger.error("The internal port's process cannot be started: %s", error.strerror)
                self._not_before = time.monotonic() + RESTART_SECONDS
            else:
                self._process = process

    def renew(self, forget: Callable[[], None]) -> None:
        """Replaces the process by one of today's code and settings."""
        old, self._process, self._not_before = self._process, None, 0.0
        self.keep_running(forget)
        if old is not None:
            old.terminate()
            old.join()

    def stop(self) -> None:
        """Ends the process and removes the folder."""
        if self._process is not None:
            self._process.terminate()
            self._process.join()
        shutil.rmtree(self._folder, ignore_errors=True)


def _answer(listener: socket.socket, folder: str, master: int, forget: Callable[[], None]) -> None:
    """What the process does until it is ended, or until there is no master any more."""
    forget()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    import django  # noqa: PLC0415 - here, and not in the master

    django.setup(set_prefix=False)
    from config.server.internal_app import InternalServer  # noqa: PLC0415 - only now with settings

    server = InternalServer(listener)
    while os.getppid() == master:
        server.handle_request()
    shutil.rmtree(folder, ignore_errors=True)
    # A question that nobody answers must not keep it.
    os._exit(0)
