"""The internal port: health and metrics of all workers, served by a process of its own.

So it answers while all threads of the workers are busy, and nothing of it is on the public port. The master starts the
process and does not import the service: after a reload it runs the new code, as the workers do.
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
# Read by prometheus_client: the folder of all processes' metrics (partners/monitoring/multiprocess.py).
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
RETRY_SECONDS = 1.0


class InternalPort:
    """The port, its process, and the folder of the metrics. release: what a fork of the master runs first."""

    def __init__(self, host: str, port: int) -> None:
        """Listen. Raises OSError."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family)
        self._folder = os.environ[FOLDER] = tempfile.mkdtemp(prefix="psi-metrics-")
        self._process: BaseProcess | None = None
        self._start_at = 0.0

    def keep_running(self, release: Callable[[], None]) -> None:
        """Start the process if there is none; after it died, with a pause."""
        if self._process is not None and not self._process.is_alive():
            self._process = None
            self._start_at = time.monotonic() + RETRY_SECONDS
        if self._process is None and time.monotonic() >= self._start_at:
            arguments = (self._listener, self._folder, os.getpid(), release)
            process = CONTEXT.Process(target=_serve, args=arguments, name="internal", daemon=True)
            try:
                process.start()
            except OSError as error:
                logger.error("The internal port's process cannot be started: %s", error.strerror)
                self._start_at = time.monotonic() + RETRY_SECONDS
            else:
                self._process = process

    def restart(self, release: Callable[[], None]) -> None:
        """Replace the process."""
        old, self._process, self._start_at = self._process, None, 0.0
        self.keep_running(release)
        _end(old)

    def stop(self) -> None:
        """End the process and remove the folder."""
        _end(self._process)
        shutil.rmtree(self._folder, ignore_errors=True)


def _end(process: BaseProcess | None) -> None:
    if process is not None:
        process.terminate()
        process.join()


def _serve(listener: socket.socket, folder: str, master: int, release: Callable[[], None]) -> None:
    """Serve until the process is terminated or the master has died."""
    release()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    import django  # noqa: PLC0415 - not in the master

    django.setup(set_prefix=False)
    from config.server.internal_app import InternalServer  # noqa: PLC0415 - needs settings

    server = InternalServer(listener)
    while os.getppid() == master:
        server.handle_request()
    shutil.rmtree(folder, ignore_errors=True)
    # Without waiting for threads that query a database that hangs.
    os._exit(0)
