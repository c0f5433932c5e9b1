"""A TCP proxy that delays responses and counts requests."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

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
