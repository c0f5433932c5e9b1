"""The HTTP server of the internal port: `/livez`, `/readyz`, `/metrics` (docs/operations.md)."""

import socket
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import orjson
import structlog
from prometheus_client import CONTENT_TYPE_LATEST

from partners.monitoring import health, multiprocess
from partners.monitoring.collector import DatabaseFigures

log = structlog.get_logger("partners.internal")

JSON = "application/json"
Answer = tuple[HTTPStatus, str, bytes]


def _health(check: Callable[[], health.Health]) -> Answer:
    result = check()
    body = {"status": "ok" if result.is_well else "failing", "checks": result.checks, "warnings": result.warnings}
    return HTTPStatus.OK if result.is_well else HTTPStatus.SERVICE_UNAVAILABLE, JSON, orjson.dumps(body)


def _metrics() -> Answer:
    return HTTPStatus.OK, CONTENT_TYPE_LATEST, multiprocess.exposition(DatabaseFigures())


def _answer(path: str) -> Answer:
    match path:
        case "/livez":
            return _health(health.liveness)
        case "/readyz":
            return _health(health.readiness)
        case "/metrics":
            return _metrics()
    return HTTPStatus.NOT_FOUND, JSON, b'{"status":"failing"}'


class _Handler(BaseHTTPRequestHandler):
    # Seconds for a request to arrive.
    timeout = 5.0

    def do_GET(self) -> None:
        try:
            status, content_type, body = _answer(self.path.partition("?")[0])
        except Exception:
            log.exception("internal port: no response")
            status, content_type, body = HTTPStatus.INTERNAL_SERVER_ERROR, JSON, b'{"status":"failing"}'
        self.send_response_only(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: probes come every few seconds."""


class InternalServer(ThreadingHTTPServer):
    """Serves from a listening socket, with a thread for each request."""

    # Seconds after which handle_request returns without a request.
    timeout = 1.0

    def __init__(self, listener: socket.socket) -> None:
        super().__init__(("", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener

    def handle_error(self, *_: object) -> None:
        """Log nothing of clients that closed the connection."""
