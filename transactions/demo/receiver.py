"""A receiver of webhooks: an HTTPS server on this machine, with a certificate authority of its own."""

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import trustme


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


class Receiver(ThreadingHTTPServer):
    """Keeps the requests that arrive, and answers 204. authorities: the PEM file for WEBHOOK_CA_BUNDLE."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, certificate: trustme.LeafCert, authorities: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        # Handshakes in the threads of requests: a silent client does not occupy the listener.
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.authorities = authorities
        self.requests: list[Received] = []
        self.arrival = threading.Condition()

    @property
    def url(self) -> str:
        """The URL of an endpoint."""
        return f"https://localhost:{self.server_port}/webhooks"

    def respond(self, handler: BaseHTTPRequestHandler, received: Received) -> None:
        """Send the response to a request, in its thread."""
        handler.send_response(HTTPStatus.NO_CONTENT)
        handler.end_headers()

    def wait_for(self, event_id: str, *, seconds: float) -> Received | None:
        """Return the webhook of an event; None if it does not arrive in time."""
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


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A running receiver, with an authority made for it, and a certificate and key of localhost for others."""
    with TemporaryDirectory(prefix="psi-receiver-") as folder:
        authority, authorities = trustme.CA(), Path(folder, "authority.pem")
        authority.cert_pem.write_to_path(str(authorities))
        certificate = authority.issue_cert("localhost")
        certificate.cert_chain_pems[0].write_to_path(str(authorities.with_name("cert.pem")))
        certificate.private_key_pem.write_to_path(str(authorities.with_name("key.pem")))
        receiver = Receiver(certificate, authorities)
        with receiver.running():
            yield receiver
