"""A separate Redis that a test may stop, and a proxy that delays its responses."""

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import RedisError

from tests.support.watched import wait_until


@contextmanager
def own_redis(port: int, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A running redis-server at a port of this machine; the test is left out where there is no such program."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("There is no redis-server.")
    process = subprocess.Popen(
        [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)],
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for_redis(port)
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for_redis(port: int) -> None:
    """Waits until it answers."""
    with Redis(port=port) as client:
        wait_until(lambda: _answers(client))


def _answers(client: "Redis") -> bool:
    try:
        return bool(client.ping())
    except RedisError:
        return False


MAX_PART_BYTES = 65536


class SlowProxy:
    """Forwards connections to a port of this machine.

    delay: seconds, for each part of a response. requests: parts received.
    """

    def __init__(self, target_port: int) -> None:
        self.delay = 0.0
        self.requests = 0
        self._target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = [self._listener]
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Close the listener and every connection."""
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target_port))
                self._open += [client, server]
                threading.Thread(target=self._pass_requests, args=(client, server), daemon=True).start()
                threading.Thread(target=self._pass_answers, args=(server, client), daemon=True).start()

    def _pass_requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while part := client.recv(MAX_PART_BYTES):
                self.requests += 1
                server.sendall(part)

    def _pass_answers(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while part := server.recv(MAX_PART_BYTES):
                time.sleep(self.delay)
                client.sendall(part)


@contextmanager
def slow_proxy(target_port: int) -> Iterator[SlowProxy]:
    """Run a proxy in front of a port, at first without delay."""
    proxy = SlowProxy(target_port)
    try:
        yield proxy
    finally:
        proxy.close()
