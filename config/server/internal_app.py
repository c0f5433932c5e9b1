"""What the internal port answers: `/livez`, `/readyz`, `/metrics` (docs/operations.md)."""

import socket
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

import orjson
import structlog
from prometheus_client import CONTENT_TYPE_LATEST

from partners.monitoring import health, multiprocess
from partners.monitoring.database_gauges import DatabaseCollector, sessions
from transactions.imports.metrics import imports

log = structlog.get_logger("partners.internal")

JSON = "application/json"
# How often whoever serves looks for its master.
LOOK_SECONDS = 1.0
# For a request to arrive.
PATIENCE_SECONDS = 5.0


class Answer(NamedTuple):
    """A status and a body."""

    status: HTTPStatus
    content_type: str
    body: bytes


def _of_health(look: Callable[[], health.Health]) -> Answer:
    found = look()
    status = HTTPStatus.OK if found.is_healthy else HTTPStatus.SERVICE_UNAVAILABLE
    told = {"status": "ok" if found.is_healthy else "failing", "checks": found.checks, "warnings": found.warnings}
    return Answer(status, JSON, orjson.dumps(told))


_database_gauges = DatabaseCollector(sessions, imports)
_answers: dict[str, Callable[[], Answer]] = {
    "/livez": lambda: _of_health(health.liveness),
    "/readyz": lambda: _of_health(health.readiness),
    "/metrics": lambda: Answer(HTTPStatus.OK, CONTENT_TYPE_LATEST, multiprocess.exposition(_database_gauges)),
}


def _failing(status: HTTPStatus) -> Answer:
    return Answer(status, JSON, orjson.dumps({"status": "failing"}))


class _Handler(BaseHTTPRequestHandler):
    timeout = PATIENCE_SECONDS

    def do_GET(self) -> None:
        look = _answers.get(self.path.partition("?")[0])
        try:
            answer = look() if look else _failing(HTTPStatus.NOT_FOUND)
        except Exception:
            log.exception("the internal port could not answer")
            answer = _failing(HTTPStatus.INTERNAL_SERVER_ERROR)
        self.send_response_only(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        """Says nothing: probes come every few seconds."""


class InternalServer(ThreadingHTTPServer):
    """Answers on a socket that listens already, a thread for each request."""

    timeout = LOOK_SECONDS

    def __init__(self, listener: socket.socket) -> None:
        super().__init__(("", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener

    def handle_error(self, *_: object) -> None:
        """Says nothing of one who did not wait for the answer."""
