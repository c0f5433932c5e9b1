"""Authentication (contract, section 3), in this order: headers, clock, key, signature, key in force.

A 401 says what is public, or one text for all other causes; the cause goes to the log and the metrics.
"""

from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

import structlog
from django.conf import settings
from rest_framework.authentication import BaseAuthentication

from partners.api.errors import REALM, InternalError, UnauthorizedError
from partners.api.json import rfc_3339
from partners.api.request import PartnerRequest
from partners.authentication import keys, signing
from partners.authentication.failures import AuthenticationFailure
from partners.authentication.keys import Caller
from partners.monitoring import metrics
from partners.monitoring.request_context import request_context

log = structlog.get_logger("partners.authentication")


class Signature(NamedTuple):
    """The signature of an authenticated request. value: 32 bytes."""

    value: bytes
    signed_at: datetime


class SignatureAuthentication(BaseAuthentication):
    """Checks X-Api-Key, X-Request-Timestamp and X-Request-Signature."""

    def authenticate(self, request: PartnerRequest) -> tuple[Caller, Signature]:  # type: ignore[override]
        """Return the caller and the verified signature. Raises UnauthorizedError and InternalError."""
        _required_header(request, "X-Api-Key")
        timestamp = _required_header(request, "X-Request-Timestamp")
        signature = _required_header(request, "X-Request-Signature")
        signed_at, skew = _checked_clock(request, timestamp)

        canonical = request.canonical_request(timestamp)
        is_signed_under = cache(lambda secret: signing.verify(secret, canonical, signature))
        caller = request.first_round_trip.find_caller(request.key_digest, is_signed_under)
        # An unknown key costs as much work as a known one.
        is_signed = is_signed_under((caller or keys.unknown_caller()).secret)

        if caller is None:
            raise unauthorized(request, AuthenticationFailure.UNKNOWN_KEY)
        request_context.partner, request_context.key = caller.partner_slug, caller.key_prefix
        if caller.secret_is_lost and caller.is_active:
            metrics.count_undecryptable_secret()
            raise InternalError
        if not is_signed:
            raise unauthorized(request, AuthenticationFailure.BAD_SIGNATURE, skew_seconds=skew)
        if not caller.is_active:
            raise unauthorized(request, AuthenticationFailure.NOT_IN_FORCE, skew_seconds=skew)
        if caller.last_used_is_stale:
            keys.record_use(caller.key_id)
        return caller, Signature(signing.signature_bytes(signature), signed_at)

    def authenticate_header(self, request: object) -> str:
        """The value of WWW-Authenticate."""
        return REALM


def _required_header(request: PartnerRequest, name: str) -> str:
    value = request.header("HTTP_" + name.upper().replace("-", "_"))
    if not value or not value.isascii():
        # granian makes a value that is not ASCII empty.
        problem = "missing" if value is None else "missing or not ASCII"
        raise unauthorized(request, AuthenticationFailure.MISSING_HEADER, f"Header {name} is {problem}.")
    return value


def _checked_clock(request: PartnerRequest, timestamp: str) -> tuple[datetime, float]:
    """When the request was signed, and the clock skew: the caller's clock minus ours, in seconds."""
    try:
        signed_at = signing.parse_timestamp(timestamp)
    except ValueError:
        message = "X-Request-Timestamp is not an RFC 3339 date-time."
        raise unauthorized(request, AuthenticationFailure.MALFORMED_TIMESTAMP, message) from None
    now = datetime.now(UTC)
    skew = (signed_at - now).total_seconds()
    if abs(skew) > settings.CLOCK_SKEW_SECONDS:
        message = (
            f"X-Request-Timestamp is more than {settings.CLOCK_SKEW_SECONDS} seconds"
            f" from the server's time, which is {rfc_3339(now)}."
        )
        raise unauthorized(request, AuthenticationFailure.CLOCK_SKEW, message, skew_seconds=skew)
    return signed_at, skew


def unauthorized(
    request: PartnerRequest, failure: AuthenticationFailure, message: str = "", *, skew_seconds: float | None = None
) -> UnauthorizedError:
    """Log an authentication failure; return the error to raise. skew_seconds: if known."""
    request_context.cause = failure.value
    if request_context.key is None:
        # Refused before the key was read.
        request_context.key = keys.visible_prefix(request.header("HTTP_X_API_KEY") or "") or None
    skew = {} if skew_seconds is None else {"skew_seconds": round(skew_seconds)}
    log.info("unauthorized", cause=failure.value, **skew)
    return UnauthorizedError(message)
