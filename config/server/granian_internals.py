"""The private names of granian that the service uses (docs/dependencies.md).

granian cannot serve from an existing socket by its public API, and its master loses requests when it restarts workers.
So only its worker processes are used, by a master of our own (config/server/master.py).
tests/config/server/test_granian_internals.py fails if one of these names changes.
"""

import socket
from collections.abc import Callable, Iterable
from multiprocessing.process import BaseProcess
from typing import Any

from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces, RuntimeModes
from granian.server import MPServer

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


class WorkerFactory:
    """Creates processes that serve a WSGI application from a socket. options: MPServer's public ones."""

    def __init__(self, **options: Any) -> None:
        self._server = MPServer(
            "",  # `process` passes what loads the application
            interface=Interfaces.WSGI,
            # HTTP/2 bodies may lack a length, which WSGI takes for no body. The proxy uses HTTP/1.1.
            http=HTTPModes.http1,
            runtime_mode=RuntimeModes.mt,
            websockets=False,
            **options,
        )

    def process(self, listener: socket.socket, load: Callable[[], Application]) -> BaseProcess:
        """Return a process, not yet started. load: called in its main thread; returns the application."""
        server = self._server
        holder: Any = SocketHolder
        server._shd = holder(listener.fileno(), uds=False, backlog=server.backlog)  # noqa: SLF001
        server._sso = listener  # noqa: SLF001
        worker = server._spawn_worker(0, server._spawn_wsgi_worker, load)  # noqa: SLF001
        process: BaseProcess = worker.inner
        return process
