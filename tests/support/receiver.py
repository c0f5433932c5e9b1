"""A receiver of webhooks: an HTTPS server on this machine, with a certificate authority of its own."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, cast

import trustme


class Received(NamedTuple):
    """A request that arrived."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def event_id(self) -> str:
        return self.headers["webhook-id"]

    def json(self) -> Any:
        return json.loads(self.body)


class Reply(NamedTuple):
    """An answer. wait, after: called before it, and before its connection is closed. interim: responses before it."""

    status: int = 204
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed
    body: bytes = b""
    wait: Callable[[], object] = lambda: None
    after: Callable[[], object] = lambda: None
    interim: int = 0


@dataclass
class Receiver:
    """A running receiver. reply: makes the answer to a request. name: of its certificate and URL."""

    port: int
    name: str
    requests: list[Received] = field(default_factory=list)
    reply: Callable[[Received], Reply] = lambda _: Reply()
    # Requests under way, and the most that were at once.
    open: int = 0
    most_open: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"https://{self.name}:{self.port}/hooks?tenant=secret-path"

    def events(self) -> list[str]:
        """The ids of the events received, in order, repetitions included."""
        return [request.event_id for request in self.requests]


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
        handler = type("Handler", (_Handler,), {})
        server = _Server(("127.0.0.1", 0), handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.ca.issue_cert(certified or name).configure_cert(context)
        server.context = context
        receiver = handler.receiver = Receiver(server.server_port, name)  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    context: ssl.SSLContext

    def finish_request(self, request: Any, client_address: Any) -> None:
        # In the request's thread: a client that does not shake hands holds up no other.
        try:
            with self.context.wrap_socket(request, server_side=True) as secured:
                self.RequestHandlerClass(secured, client_address, cast("Any", self))
        except OSError:
            pass

    def handle_error(self, *_: Any) -> None:
        """Say nothing: clients go away."""


class _Handler(BaseHTTPRequestHandler):
    receiver: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request, receiver = Received(self.path, headers, body), self.receiver
        with receiver.lock:
            receiver.requests.append(request)
            receiver.open += 1
            receiver.most_open = max(receiver.most_open, receiver.open)
        try:
            reply = receiver.reply(request)
            reply.wait()
        finally:
            with receiver.lock:
                receiver.open -= 1
        self.wfile.write(b"HTTP/1.1 102 Processing\r\n\r\n" * reply.interim)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if "Content-Length" not in reply.headers:
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)
        self.wfile.flush()
        reply.after()

    def log_message(self, *_: object) -> None:
        """Say nothing."""
