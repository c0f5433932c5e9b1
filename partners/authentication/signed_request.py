"""What is signed of a request, from the bytes that were sent: contract, section 3."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from django.utils.functional import cached_property
from rest_framework.request import Request

from partners.authentication import keys
from partners.authentication.keys import Caller
from partners.db.statements import Query
from partners.signing import signatures


class Signature(NamedTuple):
    """The signature of an authenticated request. value: 32 bytes."""

    value: bytes
    signed_at: datetime


class SignedRequest(Request):
    """DRF's request with its canonical form. SignatureAuthentication sets `user` and `auth`.

    body_bytes: the whole body, read before authentication. get_query: makes the query of the view for a partner's id,
    None without one. rows: of that query, if it was sent with the one for the API key.
    """

    if TYPE_CHECKING:
        method: str
        user: Caller  # type: ignore[assignment]
        auth: Signature
    body_bytes: bytes
    get_query: Callable[[int], Query[Any] | None] | None = None
    rows: list[Any] | None = None

    @cached_property
    def key_digest(self) -> bytes:
        """The digest of the API key that was sent, known or not."""
        return keys.digest(self.header("HTTP_X_API_KEY") or "")

    def header(self, name: str) -> str | None:
        """A header's value as sent, by its WSGI name, such as HTTP_X_API_KEY."""
        value: str | None = self._request.META.get(name)
        return value

    @cached_property
    def canonical_path(self) -> str:
        """Line 2 of the canonical request. Raises NotUtf8Error."""
        return signatures.canonical_path(self.path_bytes)

    @cached_property
    def canonical_query(self) -> str:
        """Line 3 of the canonical request. Raises NotUtf8Error."""
        return signatures.canonical_query(self.query_bytes)

    @cached_property
    def body_digest(self) -> str:
        """Line 6 of the canonical request."""
        return signatures.body_digest(self.body_bytes)

    def canonical_request(self, timestamp: str) -> str:
        """The six lines that are signed. Raises NotUtf8Error."""
        key = self.header("HTTP_IDEMPOTENCY_KEY") or ""
        lines = (self.method, self.canonical_path, self.canonical_query, timestamp, key, self.body_digest)
        return "\n".join(lines)

    def parameters(self) -> dict[str, list[str]]:
        """The query's decoded values by name, in the order sent. Raises NotUtf8Error."""
        values: dict[str, list[str]] = {}
        for name, value in signatures.query_pairs(self.query_bytes):
            values.setdefault(name, []).append(value)
        return values

    @property
    def path_bytes(self) -> bytes:
        """The percent-decoded path as config/request_handler.py stores it: Django's is the same for %FF and %25FF."""
        path: bytes | None = getattr(self._request, "path_bytes", None)
        return self._request.path_info.encode() if path is None else path

    @property
    def query_bytes(self) -> bytes:
        """The query as sent, without the question mark."""
        return str(self._request.META.get("QUERY_STRING", "")).encode("latin-1")
