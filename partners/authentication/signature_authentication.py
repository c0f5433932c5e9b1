"""What is signed of a request, from the bytes that were sent, and authentication by it: contract, section 3.

Checks have this order: headers, clock, key, signature, key in force. A 401 says what is public, or one text for all
other causes; the cause goes to the log and the metrics.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import structlog
from django.conf import settings
from django.utils.functional import cached_property
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from core.database.query import Query
from core.formats.rfc_3339 import format_timestamp, parse_timestamp
from core.request_context import request_context
from partners.authentication import keys, signatures
from partners.authentication.keys import Caller
from partners.monitoring import metrics

log = structlog.get_logger("partners.authentication")

REALM = 'HMAC-SHA256 realm="partner-service"'


class AuthenticationFailure(StrEnum):
    """Why a request is `unauthorized`; docs/operations.md says what to do."""

    MISSING_HEADER = "missing header"
    MALFORMED_TIMESTAMP = "malformed timestamp"
    CLOCK_SKEW = "clock skew"
    UNKNOWN_KEY = "unknown key"
    BAD_SIGNATURE = "bad signature"
    NOT_IN_FORCE = "key not in force or partner disabled"
    REPLAY = "replay"


# Found before the API key is read.
BEFORE_THE_KEY = {
    AuthenticationFailure.MISSING_HEADER,
    AuthenticationFailure.MALFORMED_TIMESTAMP,
    AuthenticationFailure.CLOCK_SKEW,
}


class SignatureRefusedError(AuthenticationFailed):
    """The request is not authenticated.

    message: what the partner may know; "" for the text that most causes share. caller: of the key, where it was read
    and is known. diagnosis: of a sandbox key in force (partners/api/sandbox/hooks.py).
    """

    diagnosis: Mapping[str, str] | None = None

    def __init__(self, failure: AuthenticationFailure, message: str = "", caller: Caller | None = None) -> None:
        super().__init__()
        self.failure, self.message, self.caller = failure, message, caller


class SecretLostError(Exception):
    """No present key of SECRETS_ENCRYPTION_KEYS decrypts the secret of the API key; it is logged where it is read."""


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


class SignatureAuthentication(BaseAuthentication):
    """Checks X-Api-Key, X-Request-Timestamp and X-Request-Signature."""

    def authenticate(self, request: SignedRequest) -> tuple[Caller, Signature]:  # type: ignore[override]
        """Return the caller and the verified signature. Raises SignatureRefusedError, SecretLostError, NotUtf8Error."""
        # Headers.
        _required_header(request, "X-Api-Key")
        timestamp = _required_header(request, "X-Request-Timestamp")
        signature = _required_header(request, "X-Request-Signature")
        # Clock.
        signed_at, skew = _checked_clock(request, timestamp)
        # Key. A process that has seen it before sends the view's query along, but only for who signed under the last
        # known secret: nobody else causes further reads, or learns anything from the time that they would take.
        canonical = request.canonical_request(timestamp)
        last = keys.last_caller(request.key_digest)
        is_signed = last is not None and signatures.verify(last.secret, canonical, signature)
        query = request.get_query(last.partner_id) if last and is_signed and request.get_query else None
        caller, request.rows = keys.find_caller(request.key_digest, query)
        # Signature.
        if last is None or caller.secret != last.secret:
            is_signed = signatures.verify(caller.secret, canonical, signature)
        if not caller.key_id:
            raise unauthorized(request, AuthenticationFailure.UNKNOWN_KEY)
        request_context.partner, request_context.key = caller.partner_slug, caller.key_prefix
        if caller.secret_is_lost and caller.is_active:
            metrics.count_undecryptable_secret()
            raise SecretLostError
        if not is_signed:
            raise unauthorized(request, AuthenticationFailure.BAD_SIGNATURE, skew_seconds=skew, caller=caller)
        # Key in force.
        if not caller.is_active:
            raise unauthorized(request, AuthenticationFailure.NOT_IN_FORCE, skew_seconds=skew)
        if caller.last_used_is_stale:
            keys.record_use(caller.key_id)
        return caller, Signature(signatures.signature_bytes(signature), signed_at)

    def authenticate_header(self, request: object) -> str:
        """The value of WWW-Authenticate."""
        return REALM


def _required_header(request: SignedRequest, name: str) -> str:
    value = request.header("HTTP_" + name.upper().replace("-", "_"))
    if not value or not value.isascii():
        # granian makes a value that is not ASCII empty.
        problem = "missing" if value is None else "missing or not ASCII"
        raise unauthorized(request, AuthenticationFailure.MISSING_HEADER, f"Header {name} is {problem}.")
    return value


def _checked_clock(request: SignedRequest, timestamp: str) -> tuple[datetime, float]:
    """When the request was signed, and the clock skew: the caller's clock minus ours, in seconds."""
    try:
        signed_at = parse_timestamp(timestamp)
    except ValueError:
        message = "X-Request-Timestamp is not an RFC 3339 date-time."
        raise unauthorized(request, AuthenticationFailure.MALFORMED_TIMESTAMP, message) from None
    now = datetime.now(UTC)
    skew = (signed_at - now).total_seconds()
    if abs(skew) > settings.CLOCK_SKEW_SECONDS:
        message = (
            f"X-Request-Timestamp is more than {settings.CLOCK_SKEW_SECONDS} seconds"
            f" from the server's time, which is {format_timestamp(now)}."
        )
        raise unauthorized(request, AuthenticationFailure.CLOCK_SKEW, message, skew_seconds=skew)
    return signed_at, skew


def unauthorized(
    request: SignedRequest,
    failure: AuthenticationFailure,
    message: str = "",
    *,
    skew_seconds: float | None = None,
    caller: Caller | None = None,
) -> SignatureRefusedError:
    """Log an authentication failure; return the error to raise. skew_seconds, caller: if known."""
    request_context.cause = failure.value
    if request_context.key is None:
        # Refused before the key was read.
        request_context.key = keys.visible_prefix(request.header("HTTP_X_API_KEY") or "") or None
    skew = {} if skew_seconds is None else {"skew_seconds": round(skew_seconds)}
    log.info("unauthorized", cause=failure.value, **skew)
    return SignatureRefusedError(failure, message, caller)
