"""A live service with its internal port and log, and a relay to its database."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from django.conf import settings

from tests.live.conftest import Server, free_port, production
from tests.support.client import Response
from tests.support.timeouts import WAIT_SECONDS


@dataclass(frozen=True)
class Watched(Server):
    """A running service. log: the output of its processes."""

    internal_port: int
    log: Path

    def internal(self, path: str) -> Response:
        """Return a response of the internal port."""
        connection = http.client.HTTPConnection("127.0.0.1", self.internal_port, timeout=WAIT_SECONDS)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return Response(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def health(self, path: str) -> tuple[int, dict[str, str]]:
        """Return status and checks of /livez or /readyz."""
        response = self.internal(path)
        return response.status, response.json()["checks"]

    def lines(self) -> list[dict[str, Any]]:
        """Return the log's lines, which have to be JSON."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def children(self) -> dict[str, list[psutil.Process]]:
        """Return the master's children: that of the internal port, and the workers."""
        children = psutil.Process(self.process.pid).children()
        answering = [child for child in children if not self._files_of(child.pid)]
        return {"internal": answering, "workers": [child for child in children if child not in answering]}

    def folder(self) -> Path:
        """Return the folder of the metrics."""
        return self._files_of(self.children()["workers"][0].pid)[0].parent

    def _files_of(self, process: int) -> list[Path]:
        """Return the metrics files of a process that hold gauges; only workers have some."""
        return list(self.log.parent.glob(f"psi-metrics-*/gauge_*_{process}.db"))


def wait_until(holds: Callable[[], object], *, seconds: float = WAIT_SECONDS) -> None:
    """Wait for a condition; connection errors do not matter."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(OSError, http.client.HTTPException):
            if holds():
                return
        assert time.monotonic() < deadline, "The condition did not become true."
        time.sleep(0.05)


@contextmanager
def starting(log: Path, *arguments: str, **environment: str) -> Iterator[Watched]:
    """Start the service with these arguments and settings; it may not respond yet."""
    port, internal = free_port(), free_port()
    ports = {"PORT": str(port), "INTERNAL_HOST": "127.0.0.1", "INTERNAL_PORT": str(internal)}
    # The folder is its own: another service may have left files of a process with the same number.
    folder = {"TMPDIR": str(log.parent)}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "config.serve", *arguments],
            env=os.environ | production(**environment) | ports | folder,
            cwd=Path(settings.BASE_DIR),
            stdout=output,
            stderr=output,
        )
    service = Watched(port, process, internal, log)
    try:
        yield service
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=WAIT_SECONDS)


@contextmanager
def watched(log: Path, *arguments: str, **environment: str) -> Iterator[Watched]:
    """Start the service with these arguments and settings, and wait until it responds."""
    with starting(log, *arguments, **environment) as service:
        wait_until(lambda: service.process.poll() is not None or service.transport("GET", "/v1/ping", {}, b""))
        assert service.process.poll() is None, log.read_text()
        wait_until(lambda: service.health("/livez")[0] == 200)
        yield service


@dataclass
class Relay:
    """A port that forwards to the test's PostgreSQL, and can be cut or hang."""

    target: str
    port: int = 0
    hangs: threading.Event = field(default_factory=threading.Event)
    _listener: socket.socket | None = None
    _open: list[socket.socket] = field(default_factory=list)

    def begin(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """Close the listener and all connections."""
        if self._listener is not None:
            # Closing alone leaves it open while a thread waits in `accept`.
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._listener, self._open = None, []

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self.target)
                self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                while self.hangs.is_set():
                    time.sleep(0.05)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
