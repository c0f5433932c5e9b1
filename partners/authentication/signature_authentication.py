"""What is signed of a request, from the bytes that were sent, and authentication by it: contract, section 3.

Checks have this order: headers, clock, key, signature, key in force. A 401 says what is public, or one text for all
other causes; the cause goes to the log and the metrics.
"""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import structlog
from cryptography.fernet import InvalidToken
from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.utils.functional import cached_property
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from core import encryption
from core.database import statements
from core.database.pipeline import Query
from core.formats import format_timestamp, parse_timestamp
from core.request_context import request_context
from partners.authentication import signatures
from partners.models import KEY_IS_ACTIVE, KEY_PREFIXES, SECRET_PREFIXES, Mode
from partners.monitoring import metrics

log = structlog.get_logger("partners.authentication")

REALM = 'HMAC-SHA256 realm="partner-service"'
VISIBLE_CHARACTERS = 8
LAST_USED_INTERVAL = timedelta(minutes=5)
CACHE_SIZE = 10_000


class AuthenticationFailure(StrEnum):
    """Why a request is `unauthorized`; docs/operations.md says what to do."""

    MISSING_HEADER = "missing header"
    MALFORMED_TIMESTAMP = "malformed timestamp"
    CLOCK_SKEW = "clock skew"
    UNKNOWN_KEY = "unknown key"
    BAD_SIGNATURE = "bad signature"
    NOT_IN_FORCE = "key not in force or partner disabled"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True)
class Caller:
    """A request's API key (key_id 0: unknown) and partner. is_active: the key is in force and the partner enabled."""

    partner_id: int
    partner_slug: str
    rate_limit: str
    key_id: int
    key_prefix: str
    secret: str = field(repr=False)
    is_active: bool
    last_used_is_stale: bool
    mode: Mode = Mode.LIVE
    # No present key of SECRETS_ENCRYPTION_KEYS decrypts the secret; `secret` is random instead.
    secret_is_lost: bool = False


class SignatureRefusedError(AuthenticationFailed):
    """Not authenticated. message: for the partner, or "". caller: where known. diagnosis: for the sandbox."""

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
        return digest(self.header("HTTP_X_API_KEY") or "")

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
        """The percent-decoded path as partners/api/handler.py stores it: Django's is the same for %FF and %25FF."""
        path: bytes | None = getattr(self._request, "path_bytes", None)
        return self._request.path_info.encode() if path is None else path

    @property
    def query_bytes(self) -> bytes:
        """The query as sent, without the question mark."""
        return str(self._request.META.get("QUERY_STRING", "")).encode("latin-1")


_NAMES = ("X-Api-Key", "X-Request-Timestamp", "X-Request-Signature")
_WSGI_NAMES = {name: "HTTP_" + name.upper().replace("-", "_") for name in _NAMES}


class SignatureAuthentication(BaseAuthentication):
    """Checks X-Api-Key, X-Request-Timestamp and X-Request-Signature."""

    def authenticate(self, request: SignedRequest) -> tuple[Caller, Signature]:  # type: ignore[override]
        """Return the caller and the verified signature. Raises SignatureRefusedError, SecretLostError, NotUtf8Error."""
        # Headers.
        _, timestamp, signature = [_required_header(request, name) for name in _NAMES]
        # Clock.
        signed_at, skew = _checked_clock(request, timestamp)
        # Key. A process that has seen it before sends the view's query along, but only for who signed under the last
        # known secret: nobody else causes further reads, or learns anything from the time that they would take.
        canonical = request.canonical_request(timestamp)
        last = _last_callers.get(request.key_digest)
        is_signed = last is not None and signatures.verify(last.secret, canonical, signature)
        query = request.get_query(last.partner_id) if last and is_signed and request.get_query else None
        caller, request.rows = find_caller(request.key_digest, query)
        # Signature.
        if last is None or caller.secret != last.secret:
            is_signed = signatures.verify(caller.secret, canonical, signature)
        if not caller.key_id:
            raise unauthorized(request, AuthenticationFailure.UNKNOWN_KEY)
        request_context.partner, request_context.key = caller.partner_slug, caller.key_prefix
        if caller.secret_is_lost and caller.is_active:
            metrics.undecryptable_secrets.inc()
            raise SecretLostError
        if not is_signed:
            raise unauthorized(request, AuthenticationFailure.BAD_SIGNATURE, skew_seconds=skew, caller=caller)
        # Key in force.
        if not caller.is_active:
            raise unauthorized(request, AuthenticationFailure.NOT_IN_FORCE, skew_seconds=skew)
        if caller.last_used_is_stale:
            _record_use(caller.key_id)
        return caller, Signature(signatures.signature_bytes(signature), signed_at)


def _required_header(request: SignedRequest, name: str) -> str:
    value = request.header(_WSGI_NAMES[name])
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


# The callers as this process last read them, by the digest of their keys. Their partner is still right (a trigger on
# ApiKey), the secret and `is_active` may be outdated.
_last_callers: dict[bytes, Caller] = {}


@lru_cache(maxsize=CACHE_SIZE)
def _decrypt(encrypted: str, _key_digest: bytes) -> str:
    """Decrypt at a process's first sight of a key, known or not."""
    return encryption.decrypt(encrypted, purpose=encryption.API_SECRETS)


@lru_cache(maxsize=1)
def _secret_of_no_key() -> str:
    """The encrypted secret that unknown keys are checked with, at the cost of a known one."""
    secret = SECRET_PREFIXES[Mode.LIVE] + secrets.token_urlsafe(32)
    return encryption.encrypt(secret, purpose=encryption.API_SECRETS)


_FIND_CALLER = f"""
    SELECT key.id, key.prefix, key.encrypted_secret, partner.id, partner.slug, partner.rate_limit, partner.mode,
           {KEY_IS_ACTIVE},
           (key.last_used_at >= now() - interval '{LAST_USED_INTERVAL.total_seconds():.0f} seconds') IS NOT TRUE
      FROM partners_apikey key JOIN partners_partner partner ON partner.id = key.partner_id
     WHERE key.digest = %s
"""


def find_caller(key_digest: bytes, query: Query[Any] | None = None) -> tuple[Caller, list[Any] | None]:
    """The caller with this key digest, read now, so that a revoked key is refused by the next request; and rows.

    An unknown key has a caller with a random secret: one decryption and one HMAC in either case.
    query: sent in the same round trip; its rows must not be used for a caller that is not active.
    Raises Django's database errors.
    """
    find: Query[statements.Row] = Query(_FIND_CALLER, (key_digest,))
    callers, *others = statements.fetch_first(find, query) if query else statements.fetch_first(find)
    rows = others[0] if others else None
    row = callers[0] if callers else (0, "", _secret_of_no_key(), 0, "", "", Mode.LIVE, False, False)
    key_id, prefix, encrypted, partner_id, slug, rate_limit, mode, is_active, last_used_is_stale = row
    try:
        secret, is_lost = _decrypt(encrypted, key_digest), False
    except InvalidToken:
        # Its encryption key was retired, or this process does not have it yet.
        log.error("API secret cannot be decrypted", key=prefix, partner=slug)  # noqa: TRY400 - no need of its frames
        secret, is_lost = secrets.token_hex(32), True
    caller = Caller(
        partner_id, slug, rate_limit, key_id, prefix, secret, is_active, last_used_is_stale, Mode(mode), is_lost
    )
    if not callers:
        _last_callers.pop(key_digest, None)
        return caller, rows
    if len(_last_callers) >= CACHE_SIZE:
        _last_callers.clear()
    _last_callers[key_digest] = caller
    return caller, rows


def _record_use(key_id: int) -> None:
    """Set last_used_at, unless the row is locked or the database is read-only."""
    try:
        statements.run(
            """UPDATE partners_apikey SET last_used_at = now()
                WHERE id = (SELECT id FROM partners_apikey WHERE id = %s FOR NO KEY UPDATE SKIP LOCKED)""",
            (key_id,),
        )
    except (DatabaseError, InterfaceError):
        log.warning("last_used_at could not be updated")


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
        request_context.key = visible_prefix(request.header("HTTP_X_API_KEY") or "") or None
    skew = {} if skew_seconds is None else {"skew_seconds": round(skew_seconds)}
    log.info("unauthorized", cause=failure.value, **skew)
    return SignatureRefusedError(failure, message, caller)


def digest(api_key: str) -> bytes:
    """The SHA-256 by which a key is stored."""
    return hashlib.sha256(api_key.encode()).digest()


def visible_prefix(api_key: str) -> str:
    """What staff and logs see of a key; empty if it does not look like one."""
    prefix = next((one for one in KEY_PREFIXES.values() if api_key.startswith(one)), "")
    return api_key[: len(prefix) + VISIBLE_CHARACTERS] if prefix else ""
