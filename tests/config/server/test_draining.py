"""The end of a worker, in this process."""

import os
import socket
import sys
import time
from threading import Event
from types import SimpleNamespace

import pytest

from config.server import draining
from tests.support.timeouts import WAIT_SECONDS


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell whether connections wait")
def test_connections_that_wait_are_accepted_before_a_worker_stops_to_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = Event()
    accepted: list[socket.socket] = []
    monkeypatch.setattr(os, "kill", lambda *_: ended.set())
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):

        def sleep(_: float) -> None:
            """Accept what waits, then close it, as granian does meanwhile."""
            if accepted:
                accepted[0].close()
            else:
                accepted.append(listener.accept()[0])

        monkeypatch.setattr(draining, "time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
        address = listener.getsockname()
        draining.DrainingApplication(lambda *_: [], listener).drain()
        assert ended.wait(WAIT_SECONDS)
        assert [connection.fileno() for connection in accepted] == [-1]
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
