"""The WSGI application of the internal port: `/livez`, `/readyz`, `/metrics` (docs/operations.md)."""

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

import orjson
import structlog
from prometheus_client import CONTENT_TYPE_LATEST

from partners.monitoring import health, multiprocess
from partners.monitoring.database_gauges import DatabaseCollector, sessions
from partners.webhooks.metrics import webhooks
from transactions.imports.metrics import imports

log = structlog.get_logger("partners.internal")

JSON = "application/json"
FAILING = b'{"status":"failing"}'
Response = tuple[HTTPStatus, str, bytes]

_database_gauges = DatabaseCollector(sessions, imports, webhooks)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Respond to a request (PEP 3333)."""
    try:
        status, content_type, body = _response(environ["PATH_INFO"])
    except Exception:
        log.exception("internal port: no response")
        status, content_type, body = HTTPStatus.INTERNAL_SERVER_ERROR, JSON, FAILING
    headers = {"Content-Type": content_type, "Content-Length": str(len(body)), "Cache-Control": "no-store"}
    start_response(f"{status.value} {status.phrase}", [*headers.items()])
    return [body]


def _response(path: str) -> Response:
    match path:
        case "/livez":
            return _health(health.liveness)
        case "/readyz":
            return _health(health.readiness)
        case "/metrics":
            return HTTPStatus.OK, CONTENT_TYPE_LATEST, multiprocess.exposition(_database_gauges)
    return HTTPStatus.NOT_FOUND, JSON, FAILING


def _health(check: Callable[[], health.Health]) -> Response:
    result = check()
    body = {"status": "ok" if result.is_healthy else "failing", "checks": result.checks, "warnings": result.warnings}
    return HTTPStatus.OK if result.is_healthy else HTTPStatus.SERVICE_UNAVAILABLE, JSON, orjson.dumps(body)
