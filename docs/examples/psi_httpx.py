"""Signs every request of an httpx client, synchronous or not. Needs psi.py beside it.

auth = PsiAuth(os.environ["PSI_API_KEY"], os.environ["PSI_SECRET"])
with httpx.Client(base_url="https://partners.example", auth=auth) as client:
    client.get("/v1/ping")
    client.patch("/v1/users/cust-1001", json={"city": "Ottawa"}, headers={"Idempotency-Key": key})
"""

from collections.abc import Generator
from datetime import UTC, datetime

import httpx

from psi import canonical_request, sign


class PsiAuth(httpx.Auth):
    """Adds the three headers to a request, after its Idempotency-Key and its body.

    prefix: the path of the client's base URL, which is sent but not signed, such as /gateway.
    """

    requires_request_body = True

    def __init__(self, api_key: str, secret: str, prefix: str = "") -> None:
        self._api_key = api_key
        self._secret = secret
        self._prefix = prefix.rstrip("/")

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Signs the request as it will be sent. Raises UnicodeError where its path or query is not UTF-8."""
        timestamp = datetime.now(UTC).isoformat()
        canonical = canonical_request(
            request.method,
            request.url.raw_path.decode().removeprefix(self._prefix),
            timestamp,
            request.headers.get("Idempotency-Key", ""),
            request.content,
        )
        request.headers["X-Api-Key"] = self._api_key
        request.headers["X-Request-Timestamp"] = timestamp
        request.headers["X-Request-Signature"] = sign(self._secret, canonical)
        yield request
