"""Signs requests to the Partner Service Interface and sends them. Python 3.11 or newer, no packages.

export PSI_BASE_URL=https://partners.example PSI_API_KEY=psi_key_… PSI_SECRET=psi_secret_…
python3 psi.py GET /v1/ping
python3 psi.py PATCH /v1/users/cust-1001 '{"city": "Ottawa"}'

The status goes to standard error, the body to standard output: redirect it with `>` to save it.
"""

import hashlib
import hmac
import json
import os
import sys
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from email.message import Message
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import parse_qsl, quote, unquote
from urllib.request import HTTPRedirectHandler, Request, build_opener


def canonical_request(method: str, target: str, timestamp: str, idempotency_key: str, body: bytes) -> str:
    """Returns the canonical request, the six lines to sign.

    target: the path from /v1 on with its query, as sent. Raises UnicodeError if it is not UTF-8.
    """
    path, _, query = target.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True, errors="strict")
    encoded = sorted((quote(name, safe=""), quote(value, safe="")) for name, value in pairs)
    lines = (
        method,
        quote(unquote(path, errors="strict"), safe="/"),
        "&".join(f"{name}={value}" for name, value in encoded),
        timestamp,
        idempotency_key,
        hashlib.sha256(body).hexdigest(),
    )
    return "\n".join(lines)


def sign(secret: str, canonical: str) -> str:
    """Returns the signature: the hex HMAC-SHA256 under the secret as issued."""
    return hmac.new(secret.encode(), canonical.encode(), hashlib.sha256).hexdigest()


class Response(NamedTuple):
    """A response of the service."""

    status: int
    headers: Message
    body: bytes

    def json(self) -> Any:
        """Parses the body. Raises ValueError if it is not JSON, as from a proxy."""
        return json.loads(self.body)


class _StayHere(HTTPRedirectHandler):
    """Follows no redirects, which could take the key to another host."""

    def redirect_request(self, *_: object) -> None:
        return None


def send(
    method: str,
    target: str,
    body: bytes = b"",
    idempotency_key: str | None = None,
    more_headers: Mapping[str, str] | None = None,
) -> Response:
    """Signs a request and sends it; an error status is returned too.

    target: percent-encoded. body: JSON, sent as it is signed, byte for byte. idempotency_key: by default a new one
    for a write. more_headers: not signed, such as X-Sandbox-Fault. Raises OSError or HTTPException if there is no
    response.
    """
    is_write = method in {"POST", "PATCH"}
    key = idempotency_key or (str(uuid.uuid4()) if is_write else "")
    timestamp = datetime.now(UTC).isoformat()
    canonical = canonical_request(method, target, timestamp, key, body)
    headers = dict(more_headers or {}) | {
        "X-Api-Key": setting("PSI_API_KEY"),
        "X-Request-Timestamp": timestamp,
        "X-Request-Signature": sign(setting("PSI_SECRET"), canonical),
    }
    if key:
        headers["Idempotency-Key"] = key
    if is_write:
        headers["Content-Type"] = "application/json"
    url = setting("PSI_BASE_URL").rstrip("/") + target
    request = Request(url, body or None, headers, method=method)
    try:
        with build_opener(_StayHere).open(request, timeout=30) as response:
            return Response(response.status, response.headers, response.read())
    except HTTPError as error:
        with error:
            return Response(error.code, error.headers, error.read())


def setting(name: str) -> str:
    """Returns an environment variable. Without it, the program ends with one line."""
    return os.environ.get(name) or sys.exit(f"{name} is not set")


def main() -> None:
    """Command line: sends one request and writes the response. Exit status 0 for a 2xx."""
    if len(sys.argv) not in {3, 4}:
        sys.exit("usage: python3 psi.py METHOD PATH [JSON]")
    method, target, *body = sys.argv[1:]
    try:
        response = send(method, target, "".join(body).encode(), os.environ.get("PSI_IDEMPOTENCY_KEY"))
    except ValueError as mistake:
        sys.exit(str(mistake))
    except (OSError, HTTPException) as error:
        sys.exit(f"no response: {error}")
    print(response.status, file=sys.stderr)
    sys.stdout.buffer.write(response.body)
    sys.stdout.flush()
    print(file=sys.stderr)
    sys.exit(0 if 200 <= response.status < 300 else 1)


if __name__ == "__main__":
    main()
