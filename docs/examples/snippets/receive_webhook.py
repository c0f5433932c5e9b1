"""Receives webhooks and verifies them.

export PSI_WEBHOOK_SECRET=whsec_… PORT=8080
export TLS_CERT=cert.pem TLS_KEY=key.pem  # for HTTPS; not behind an HTTPS server
"""

import os
import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psi

MAX_BODY = 64 * 1024

# While you change from one secret to the next, put both here: either verifies.
secrets = [psi.setting("PSI_WEBHOOK_SECRET")]
# In place of your database: what was received, by webhook-id.
received: dict[str, Any] = {}


class Receiver(BaseHTTPRequestHandler):
    """Stores events at once, and leaves what they cause to another process: the service waits 15 seconds."""

    def do_POST(self) -> None:
        """Receives one webhook."""
        length = int(self.headers.get("Content-Length", MAX_BODY + 1))
        if length > MAX_BODY:
            self.reply(413)
            return
        # The bytes as they were sent, not JSON that was parsed and written again.
        body = self.rfile.read(length)
        try:
            event = psi.verify_webhook(body, dict(self.headers), secrets)
        except psi.WebhookError:
            self.reply(401)
            return
        # An event may come more than once, and later than a newer one of the same user: keep the greatest updatedAt.
        if self.headers["webhook-id"] not in received:
            received[self.headers["webhook-id"]] = event
            print(event["type"], event["data"].get("externalId", ""), flush=True)
        self.reply(204)

    def reply(self, status: int) -> None:
        """Responds without a body."""
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing: the lines are the events."""


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver)
if certificate := os.environ.get("TLS_CERT"):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, os.environ["TLS_KEY"])
    # Handshakes in the threads of requests.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
