"""The demo's receiver of webhooks, with responses as tests need them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple

import trustme

from tests.support import internal
from transactions.demo import receiver as demo_receiver
from transactions.demo.receiver import Received


class Reply(NamedTuple):
    """A response. wait, after: called before it, and before its connection is closed. interim: responses before it."""

    status: int = 204
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed
    body: bytes = b""
    wait: Callable[[], object] = lambda: None
    after: Callable[[], object] = lambda: None
    interim: int = 0


class Receiver(demo_receiver.Receiver):
    """A receiver. reply: makes the response to a request. open: requests under way; most_open: the most at once.

    name: the host in its URL.
    """

    def __init__(self, *arguments: Any, name: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.name = name
        self.reply: Callable[[Received], Reply] = lambda _: Reply()
        self.open = self.most_open = 0
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        return self.server_port

    @property
    def url(self) -> str:
        return f"https://{self.name}:{self.port}/hooks?tenant=secret-path"

    def events(self) -> list[str]:
        """The ids of the events received, in order, repetitions included."""
        return [request.event_id for request in self.requests]

    def respond(self, handler: BaseHTTPRequestHandler, received: Received) -> None:
        internal.check(received.body)
        with self._lock:
            self.open += 1
            self.most_open = max(self.most_open, self.open)
        try:
            reply = self.reply(received)
            reply.wait()
        finally:
            with self._lock:
                self.open -= 1
        handler.wfile.write(b"HTTP/1.1 102 Processing\r\n\r\n" * reply.interim)
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        if "Content-Length" not in reply.headers:
            handler.send_header("Content-Length", str(len(reply.body)))
        handler.end_headers()
        handler.wfile.write(reply.body)
        handler.wfile.flush()
        reply.after()


@dataclass(frozen=True)
class Authority:
    """A certificate authority. bundle: its PEM file, for WEBHOOK_CA_BUNDLE."""

    ca: trustme.CA
    bundle: Path

    @classmethod
    def create(cls, folder: Path) -> "Authority":
        ca, bundle = trustme.CA(), folder / "authority.pem"
        ca.cert_pem.write_to_path(str(bundle))
        return cls(ca, bundle)

    @contextmanager
    def receiver(self, name: str = "localhost", *, certified: str | None = None) -> Iterator[Receiver]:
        """Start a receiver. certified: the name in its certificate, if another."""
        receiver = Receiver(self.ca, self.bundle, name=name, certified=certified or name)
        with receiver.running():
            yield receiver
