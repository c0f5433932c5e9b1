"""The published vectors, and what the service makes of a request."""

import json
from typing import Any
from urllib.parse import unquote_to_bytes

from partners.authentication import signatures
from tests.examples.languages import ROOT, Signed

PUBLISHED: dict[str, Any] = json.loads((ROOT / "docs" / "signing-vectors.json").read_text())
API_KEY: str = PUBLISHED["apiKey"]
SECRET: str = PUBLISHED["secret"]
VECTORS: list[dict[str, Any]] = PUBLISHED["vectors"]
REFUSED: list[dict[str, Any]] = PUBLISHED["refused"]


def target(request: dict[str, Any]) -> str:
    """Path and query of a vector, as in the first line of an HTTP request."""
    return str(request["path"] + (f"?{request['query']}" if request["query"] else ""))


def signed(vector: dict[str, Any]) -> Signed:
    """A vector as a driver takes it."""
    return Signed(vector["method"], target(vector), vector["timestamp"], vector["idempotencyKey"], vector["body"])


def by_the_service(request: Signed, secret: str) -> tuple[str, str]:
    """Canonical request and signature. Raises signatures.NotUtf8Error."""
    path, _, query = request.target.partition("?")
    body = request.body.encode()
    canonical = signatures.canonical_request(
        request.method, unquote_to_bytes(path), query.encode(), request.timestamp, request.key, body
    )
    return canonical, signatures.sign(secret, canonical)
