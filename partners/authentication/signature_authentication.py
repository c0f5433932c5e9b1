"""Authentication: contract, section 3. Headers, clock, key, signature, key in force, in this order.

What a refusal says is public knowledge or one and the same text; the cause goes to the log.
"""

from datetime import UTC, datetime
from typing import NamedTuple

import structlog
from django.conf import settings
from rest_framework.authentication import BaseAuthentication

from partners.api.errors import REALM, InternalError, UnauthorizedError
from partners.api.json import rfc_3339
from partners.api.request import PartnerRequest
from partners.authentication import keys, signing
from partners.authentication.keys import Caller
from partners.monitoring import metrics
from partners.monitoring.request_context import facts
from partners.usage import recording
from partners.usage.failures import AuthenticationFailure

log = structlog.get_logger("partners.authentication")

NOT_VALID = "The API key or the signature is not valid."


class Signature(NamedTuple):
    """How a request was authenticated. value: 32 bytes. skew_seconds: by how much the caller's clock is ahead."""

    value: bytes
    signed_at: datetime
    skew_seconds: float


class SignatureAuthentication(BaseAuthentication):
    """Checks X-Api-Key, X-Request-Timestamp and X-Request-Signature."""

    def authenticate(self, request: PartnerRequest) -> tuple[Caller, Signature]:  # type: ignore[override]
        """The caller, and the signature that was verified.

        The key is looked up for each request, so that a revoked one is refused by the next, in every process.
        Raises UnauthorizedError; InternalError where the service cannot read the secret of a key in force.
        """
        _required_header(request, "X-Api-Key")
        timestamp = _required_header(request, "X-Request-Timestamp")
        signature = _required_header(request, "X-Request-Signature")
        signed_at = _parsed(request, timestamp)
        skew = _checked_skew(request, signed_at)
        canonical = request.canonical_request(timestamp)
        # What the view reads first goes along with the key's query, but only for a signature that is right under the
        # secret that this process saw last: for others nothing is read, and no time is spent that would tell of it.
        last_secret = keys.last_caller(request.key_digest).secret
        read_ahead = request.read_ahead
        is_expected = read_ahead is not None and signing.verify(last_secret, canonical, signature)
        caller, found = keys.find_caller(request.key_digest, *([read_ahead] if read_ahead and is_expected else []))
        # An unknown key costs the work of a known one.
        secret = (caller or keys.nobody()).secret
        is_signed = (is_expected and secret == last_secret) or signing.verify(secret, canonical, signature)
        if caller is None:
            raise refused(request, AuthenticationFailure.UNKNOWN_KEY, NOT_VALID)
        facts.partner, facts.key = caller.partner_slug, caller.key_prefix
        if caller.secret_is_lost and caller.may_call:
            metrics.count_lost_secret()
            raise InternalError
        if not is_signed:
            raise refused(request, AuthenticationFailure.BAD_SIGNATURE, NOT_VALID, skew_seconds=skew)
        if not caller.may_call:
            raise refused(request, AuthenticationFailure.NOT_IN_FORCE, NOT_VALID, skew_seconds=skew)
        if caller.should_touch:
            keys.touch(caller.key_id)
        if found:
            (request.rows_ahead,) = found
        return caller, Signature(signing.signature_bytes(signature), signed_at, skew)

    def authenticate_header(self, request: object) -> str:
        """WWW-Authenticate of a refusal."""
        return REALM


def _required_header(request: PartnerRequest, name: str) -> str:
    value = request.header("HTTP_" + name.upper().replace("-", "_"))
    if not value or not value.isascii():
        # granian gives a header that is not ASCII as an empty text, other servers as it is.
        reason = "missing" if value is None else "missing or not ASCII"
        raise refused(request, AuthenticationFailure.MISSING_HEADER, f"Header {name} is {reason}.")
    return value


def _parsed(request: PartnerRequest, timestamp: str) -> datetime:
    try:
        return signing.parse_timestamp(timestamp)
    except ValueError:
        message = "X-Request-Timestamp is not an RFC 3339 date-time."
        raise refused(request, AuthenticationFailure.MALFORMED_TIMESTAMP, message) from None


def _checked_skew(request: PartnerRequest, signed_at: datetime) -> float:
    now = datetime.now(UTC)
    skew = (signed_at - now).total_seconds()
    if abs(skew) > settings.CLOCK_SKEW_SECONDS:
        message = (
            f"X-Request-Timestamp is more than {settings.CLOCK_SKEW_SECONDS} seconds"
            f" from the server's time, which is {rfc_3339(now)}."
        )
        raise refused(request, AuthenticationFailure.CLOCK_SKEW, message, skew_seconds=skew)
    return skew


def refused(
    request: PartnerRequest, failure: AuthenticationFailure, message: str, *, skew_seconds: float | None = None
) -> UnauthorizedError:
    """The error to raise; the failure goes to the log and to the usage counters, never to the caller.

    skew_seconds: by how much the caller's clock is ahead of ours, where the request tells.
    """
    skew = {} if skew_seconds is None else {"skew_seconds": round(skew_seconds)}
    log.info("unauthorized", cause=failure.value, **skew)
    facts.cause = failure.value
    recording.record_failure(failure, request.key_digest, skew_seconds=skew_seconds)
    return UnauthorizedError(message)
