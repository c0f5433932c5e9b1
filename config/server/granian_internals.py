"""granian's names that are not public: all that the service uses of them (docs/dependencies.md).

granian has no public way to serve from a socket that exists, and its own master restarts workers with requests lost. So
its description of a worker's process is used, and nothing else of its master: config/server/master.py has another.
tests/config/server/test_granian_internals.py fails where one of these names changes.
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
    """Makes processes that serve a WSGI application from a given socket. options: MPServer's, all public."""

    def __init__(self, **options: Any) -> None:
        self._server = MPServer(
            "",  # the application is loaded by `load`, below
            interface=Interfaces.WSGI,
            # A body over HTTP/2 may come without a length, which WSGI cannot tell from none; the proxy speaks HTTP/1.1.
            http=HTTPModes.http1,
            runtime_mode=RuntimeModes.mt,
            websockets=False,
            **options,
        )

    def process(self, listener: socket.socket, load: Callable[[], Application]) -> BaseProcess:
        """A process, not started yet, that accepts from `listener`.

        load: called in its main thread before it accepts anything; what it answers with.
        """
        server = self._server
        holder: Any = SocketHolder
        # granian's own object for the socket, and Python's.
        server._shd = holder(listener.fileno(), uds=False, backlog=server.backlog)  # noqa: SLF001
        server._sso = listener  # noqa: SLF001
        worker = server._spawn_worker(0, server._spawn_wsgi_worker, load)  # noqa: SLF001
        process: BaseProcess = worker.inner
        return process
