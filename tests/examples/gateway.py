"""A gateway, as companies put one before a service: it serves under a prefix, and on bad days it fails."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from tests.support.client import Headers, Response, Transport

PREFIX = "/gateway"
PASSED_ON = {"x-api-key", "x-request-timestamp", "x-request-signature", "idempotency-key", "content-type"}
RETURNED = (
    *("Content-Type", "Content-Length", "Content-Disposition", "Retry-After", "Location"),
    *("X-Request-Id", "Idempotent-Replayed"),
)

# "lost": the service has done it, and the response does not arrive; "cut": all but its last byte does; "spoilt": its
# last byte is another. A number: the gateway's own response. None: nothing befalls it.
Fault = Literal["lost", "cut", "spoilt", 302, 404, 408, 429, 500, 503] | None


class Gateway(ThreadingHTTPServer):
    """faults: what befalls the next requests, one each. retry_after: in the gateway's own responses, in seconds or
    as a date.

    seen: the headers of every request, by lower-case name. seen_at: when each came, on the monotonic clock.
    """

    daemon_threads = False

    def __init__(self, service: Transport) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.service = service
        self.faults: list[Fault] = []
        self.retry_after: int | str = 1
        self.seen: list[Headers] = []
        self.seen_at: list[float] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{PREFIX}/"


class _Handler(BaseHTTPRequestHandler):
    server: Gateway

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append(headers)
        self.server.seen_at.append(time.monotonic())
        fault = self.server.faults.pop(0) if self.server.faults else None
        if isinstance(fault, int):
            self.reply(self.failure(fault))
            return
        target = self.path.partition(PREFIX)[2]
        passed_on = {name: value for name, value in headers.items() if name in PASSED_ON}
        response = self.server.service(self.command, target, passed_on, body)
        if fault == "cut":
            response = replace(response, body=response.body[:-1])
        elif fault == "spoilt":
            response = replace(response, body=response.body[:-1] + b"?")
        if fault != "lost":
            self.reply(response)

    do_POST = do_PATCH = do_GET  # noqa: N815 - http.server's names

    def reply(self, response: Response) -> None:
        self.send_response(response.status)
        for name in RETURNED:
            if (value := response.header(name)) is not None:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.body)

    def failure(self, status: int) -> Response:
        body = json.dumps({"error": "internal_error", "message": "A bad day.", "requestId": "none"}).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        more = {"Location": f"{PREFIX}/v1/ping"} if status == 302 else {"Retry-After": str(self.server.retry_after)}
        return Response(status, headers | more, body)

    def log_message(self, *_: object) -> None:
        """The test's output is no place for it."""


@contextmanager
def gateway_before(service: Transport) -> Iterator[Gateway]:
    """Runs a gateway before this service."""
    with Gateway(service) as gateway:
        thread = threading.Thread(target=gateway.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield gateway
        finally:
            gateway.shutdown()
            thread.join()
