"""Who is asking: contract, section 3.

What a refusal says is public knowledge or one and the same text; the cause goes to the log.
"""

from datetime import UTC, datetime
from functools import partial

import structlog
from django.conf import settings
from rest_framework.authentication import BaseAuthentication

from partners import keys, signing, sql, troubles
from partners.api.errors import InternalError, UnauthorizedError
from partners.api.json import rfc_3339
from partners.api.request import Received, ServiceRequest
from partners.api.sender import Sender
from partners.observing import metrics
from partners.observing.facts import facts
from partners.troubles import Cause

log = structlog.get_logger("partners.authentication")

NOT_VALID = "The API key or the signature is not valid."


class SignatureAuthentication(BaseAuthentication):
    """Checks X-Api-Key, X-Request-Timestamp and X-Request-Signature."""

    def authenticate(self, request: ServiceRequest) -> tuple[Sender, float]:  # type: ignore[override]
        """Who signed the request, and by how many seconds their clock is ahead of ours. Raises UnauthorizedError."""
        received = request.received
        api_key = _required_header(received, "X-Api-Key")
        timestamp = _required_header(received, "X-Request-Timestamp")
        signature = _required_header(received, "X-Request-Signature")
        canonical = received.canonical_request(timestamp)
        skew = _checked_skew(received, timestamp)
        look_up = partial(_look_up, received, api_key, canonical, signature, skew)
        # An unknown key costs the work of a known one.
        remembered = (keys.remembered(api_key) if sql.is_well() else None) or keys.nobody()
        if not signing.verify(remembered.secret, canonical, signature):
            return Sender(look_up(), look_up, is_confirmed=True), skew
        _note(remembered)
        return Sender(remembered, look_up, is_confirmed=False), skew


def _look_up(received: Received, api_key: str, canonical: str, signature: str, skew: float) -> keys.Caller:
    """Who signed, as the database has it at this moment.

    Raises UnauthorizedError, and InternalError where the service cannot read the secret of a key in force.
    """
    caller = keys.find_caller(api_key)
    signed = signing.verify((caller or keys.nobody()).secret, canonical, signature)
    if caller is None:
        raise refused(received, Cause.UNKNOWN_KEY, NOT_VALID)
    _note(caller)
    if caller.secret_is_lost and caller.may_call:
        metrics.count_lost_secret()
        raise InternalError
    if not signed:
        raise refused(received, Cause.BAD_SIGNATURE, NOT_VALID, skew_seconds=skew)
    if not caller.may_call:
        raise refused(received, Cause.NOT_IN_FORCE, NOT_VALID, skew_seconds=skew)
    if caller.should_touch:
        keys.touch(caller.key_id)
    return caller


def _note(caller: keys.Caller) -> None:
    facts.partner, facts.key = caller.partner_slug, caller.key_prefix


def _required_header(received: Received, name: str) -> str:
    value = received.header("HTTP_" + name.upper().replace("-", "_"))
    if not value or not value.isascii():
        # granian gives a header that is not ASCII as an empty text, other servers as it is.
        reason = "missing" if value is None else "missing or not ASCII"
        raise refused(received, Cause.MISSING_HEADER, f"Header {name} is {reason}.")
    return value


def _checked_skew(received: Received, text: str) -> float:
    try:
        signed_at = signing.parse_timestamp(text)
    except ValueError:
        raise refused(
            received, Cause.MALFORMED_TIMESTAMP, "X-Request-Timestamp is not an RFC 3339 date-time."
        ) from None
    now = datetime.now(UTC)
    skew = (signed_at - now).total_seconds()
    if abs(skew) > settings.CLOCK_SKEW_SECONDS:
        raise refused(
            received,
            Cause.CLOCK_SKEW,
            f"X-Request-Timestamp is more than {settings.CLOCK_SKEW_SECONDS} seconds"
            f" from the server's time, which is {rfc_3339(now)}.",
            skew_seconds=skew,
        )
    return skew


def refused(received: Received, cause: Cause, message: str, *, skew_seconds: float | None = None) -> UnauthorizedError:
    """The error to raise; its cause goes to the log and to the counts that staff see, never to the sender.

    skew_seconds: by how much the sender's clock is ahead of ours, where the request tells.
    """
    skew = {} if skew_seconds is None else {"skew_seconds": round(skew_seconds)}
    log.info("unauthorized", cause=cause.value, **skew)
    facts.cause = cause.value
    troubles.count(cause, received.header("HTTP_X_API_KEY"), skew_seconds=skew_seconds)
    return UnauthorizedError(message)
