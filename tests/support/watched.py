"""A live service with its log, and a relay to its database."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.slow.live.conftest import Server, launch, stop
from tests.support.client import Response
from tests.support.timeouts import WAIT_SECONDS


@dataclass(frozen=True)
class Watched(Server):
    """A running service. log: the output of its processes."""

    log: Path

    def monitored(self, path: str) -> Response:
        """Return a response of /livez, /readyz or /metrics, as a scraper gets it."""
        return self.transport("GET", path, {"Host": "192.0.2.1:8001"}, b"")

    def health(self) -> tuple[int, dict[str, str]]:
        """Return status and checks of /readyz."""
        response = self.monitored("/readyz")
        return response.status, response.json()["checks"]

    def lines(self) -> list[dict[str, Any]]:
        """Return the log's lines, which have to be JSON."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


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
def watched(log: Path, **environment: str) -> Iterator[Watched]:
    """Start the service with these settings, and wait until it responds."""
    with log.open("wb") as output:
        server = launch(output, **environment)
    service = Watched(server.port, server.process, log)
    try:
        wait_until(lambda: service.process.poll() is not None or service.monitored("/livez"))
        assert service.process.poll() is None, log.read_text()
        yield service
    finally:
        stop(service)


@dataclass
class Relay:
    """A port that forwards to PostgreSQL's socket or a port of this machine, and can be cut, hang or be slow.

    delay: seconds, for each part of a response. requests: parts received.
    """

    target: str | int
    port: int = 0
    delay: float = 0.0
    requests: int = 0
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
                far = socket.socket(socket.AF_UNIX if isinstance(self.target, str) else socket.AF_INET)
                far.connect(self.target if isinstance(self.target, str) else ("127.0.0.1", self.target))
                self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(one, other, one is near), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:  # noqa: FBT001
        with suppress(OSError):
            while data := source.recv(65536):
                self.requests += is_request
                while self.hangs.is_set():
                    time.sleep(0.05)
                time.sleep(0 if is_request else self.delay)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


# Answers that have to come in time. A machine that is busy or paused delays one, but not each of several


# The time within which every response arrives, whatever hangs (docs/operations.md).
ANSWER_SECONDS = 5.0
_TIMES = 3

T = TypeVar("T")


def promptly(ask: Callable[[], T]) -> T:
    """Return the first response that took less than ANSWER_SECONDS."""

    def measured() -> tuple[float, T]:
        begun = time.monotonic()
        response = ask()
        return time.monotonic() - begun, response

    return once_prompt(measured)


def once_prompt(measure: Callable[[], tuple[float, T]]) -> T:
    """Return the result of the first measurement below ANSWER_SECONDS. measure: returns seconds and the result."""
    found = []
    for _ in range(_TIMES):
        seconds, result = measure()
        if seconds < ANSWER_SECONDS:
            return result
        found.append(seconds)
    raise AssertionError(f"Each took longer than {ANSWER_SECONDS} s: {found}")
