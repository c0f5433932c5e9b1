"""The demo's receiver of webhooks: an HTTPS server on this machine that verifies what it gets, as a partner's would."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import trustme
from standardwebhooks import Webhook, WebhookVerificationError

HOST = "localhost"
PATH = "/webhooks"
# For a client that is silent.
SILENCE_SECONDS = 15


class Received(NamedTuple):
    """A verified webhook. headers: those of Standard Webhooks."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        """The event."""
        event: dict[str, Any] = json.loads(self.body)
        return event


class Receiver(ThreadingHTTPServer):
    """Answers 204 to a webhook with a valid signature, 401 to others.

    authorities: the PEM file of those that certify it. on_receipt: called with each valid webhook, in a thread.
    """

    daemon_threads = True

    def __init__(self, context: ssl.SSLContext, authorities: Path) -> None:
        super().__init__((HOST, 0), _Handler)
        # Handshakes in the threads of requests: a silent client does not occupy the listener.
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.authorities = authorities
        self.on_receipt: Callable[[Received], None] = lambda _: None
        self._webhook: Webhook | None = None
        self._received: dict[str, Received] = {}
        self._arrival = threading.Condition()

    @property
    def url(self) -> str:
        """Its URL."""
        return f"https://{HOST}:{self.server_port}{PATH}"

    def use_secret(self, secret: str) -> None:
        """Set the endpoint's secret; before, all webhooks are refused."""
        self._webhook = Webhook(secret)

    def is_valid(self, received: Received) -> bool:
        """Whether the signature is that of the secret and the time is recent."""
        try:
            return self._webhook is not None and bool(self._webhook.verify(received.body, dict(received.headers)))
        except WebhookVerificationError:
            return False

    def keep(self, received: Received) -> None:
        """Keep a verified webhook for `wait_for`."""
        with self._arrival:
            self._received[received.headers["webhook-id"]] = received
            self._arrival.notify_all()
        self.on_receipt(received)

    def wait_for(self, event_id: str, *, seconds: float) -> Received | None:
        """Return the webhook of an event, None if it does not arrive in time."""
        with self._arrival:
            self._arrival.wait_for(lambda: event_id in self._received, seconds)
            return self._received.get(event_id)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that close the connection early; the service retries."""


class _Handler(BaseHTTPRequestHandler):
    server: Receiver
    timeout = SILENCE_SECONDS

    def do_POST(self) -> None:
        """Answer a webhook."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        received = Received({name: self.headers.get(name, "") for name in names}, body)
        is_valid = self.path == PATH and self.server.is_valid(received)
        if is_valid:
            self.server.keep(received)
        self.send_response(HTTPStatus.NO_CONTENT if is_valid else HTTPStatus.UNAUTHORIZED)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing; the walk does."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A running receiver, with a certificate and an authority made for it."""
    with TemporaryDirectory(prefix="psi-receiver-") as name:
        authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(HOST).configure_cert(context)
        authorities = Path(name) / "authority.pem"
        authority.cert_pem.write_to_path(str(authorities))
        with Receiver(context, authorities) as receiver:
            threading.Thread(target=receiver.serve_forever, daemon=True).start()
            try:
                yield receiver
            finally:
                receiver.shutdown()
