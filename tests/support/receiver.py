"""A receiver of webhooks: an HTTPS server on this machine, with responses as tests need them."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import trustme

from tests.support import internal


class Received(NamedTuple):
    """A request that arrived. headers: by lower-case name."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def event_id(self) -> str:
        """The event's id."""
        return self.headers["webhook-id"]

    def json(self) -> Any:
        """The event."""
        return json.loads(self.body)


class Reply(NamedTuple):
    """A response. wait, after: called before it, and before its connection is closed. raw: all of it, instead."""

    status: int = 204
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed
    body: bytes = b""
    wait: Callable[[], object] = lambda: None
    after: Callable[[], object] = lambda: None
    raw: bytes | None = None


class Receiver(ThreadingHTTPServer):
    """Keeps the requests that arrive. authorities: the PEM file for WEBHOOK_CA_BUNDLE. name: the host in its URL.

    reply: makes the response to a request. open: requests under way; most_open: the most at once.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, certificate: trustme.LeafCert, authorities: Path, *, name: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        # Handshakes in the threads of requests: a silent client does not occupy the listener.
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.authorities, self.name = authorities, name
        self.requests: list[Received] = []
        self.arrival = threading.Condition()
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

    def wait_for(self, event_id: str, *, seconds: float) -> Received | None:
        """The webhook of an event; None if it does not arrive in time."""
        with self.arrival:
            return self.arrival.wait_for(
                lambda: next((received for received in self.requests if received.event_id == event_id), None), seconds
            )

    def handle_error(self, *_: Any) -> None:
        """Print nothing: clients close connections early, and the service retries."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serve until the end of the block."""
        with self:
            thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
            thread.start()
            try:
                yield
            finally:
                self.shutdown()
                thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Receiver
    # The time that a client may be silent, in seconds.
    timeout = 15

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        received = Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        with self.server.arrival:
            self.server.requests.append(received)
            self.server.arrival.notify_all()
        self.server.respond(self, received)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


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
