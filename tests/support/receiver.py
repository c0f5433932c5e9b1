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
    """A response. wait, after: called before it, and before its connection is closed. raw: all of it, instead."""

    status: int = 204
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed
    body: bytes = b""
    wait: Callable[[], object] = lambda: None
    after: Callable[[], object] = lambda: None
    raw: bytes | None = None


class Receiver(demo_receiver.Receiver):
    """A receiver. reply: makes the response to a request. open: requests under way; most_open: the most at once.

    name: the host in its URL.
    """

    def __init__(self, *arguments: Any, name: str) -> None:
        super().__init__(*arguments)
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
        if reply.raw is None:
            self._respond(handler, reply)
        else:
            handler.wfile.write(reply.raw)
        handler.wfile.flush()
        reply.after()

    @staticmethod
    def _respond(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        if "Content-Length" not in reply.headers:
            handler.send_header("Content-Length", str(len(reply.body)))
        handler.end_headers()
        handler.wfile.write(reply.body)


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
    def receiver(self, name: str = "localhost", *, certificate: trustme.LeafCert | None = None) -> Iterator[Receiver]:
        """Start a receiver. certificate: instead of one for its name."""
        receiver = Receiver(certificate or self.ca.issue_cert(name), self.bundle, name=name)
        with receiver.running():
            yield receiver
