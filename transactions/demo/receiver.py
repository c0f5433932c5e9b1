"""The demo's receiver of webhooks: an HTTPS server on this machine that verifies what it gets, as a partner's would."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
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

    certificate: its PEM file. on_receipt: called with each valid webhook, in a thread.
    """

    daemon_threads = True

    def __init__(self, certificate: Path, key: Path) -> None:
        super().__init__((HOST, 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        # Handshakes in the threads of requests: a silent client does not occupy the listener.
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.certificate = certificate
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
    """A running receiver, with a certificate made for it."""
    with TemporaryDirectory(prefix="psi-receiver-") as name:
        certificate, key = Path(name) / "certificate.pem", Path(name) / "key.pem"
        _write_certificate(certificate, key)
        with Receiver(certificate, key) as receiver:
            threading.Thread(target=receiver.serve_forever, daemon=True).start()
            try:
                yield receiver
            finally:
                receiver.shutdown()


def _write_certificate(certificate: Path, key: Path) -> None:
    """Write a certificate that signs itself, for HOST."""
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    public = private.public_key()
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
        .sign(private, hashes.SHA256())
    )
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
