"""The diagnosis of a refused signature, for sandbox keys in force alone: contract, section 11.

A test secret in place of the key is named too, by its prefix: the text is no key, so nothing is told of any. A refused
request of any other key costs and gets nothing more. The kind of a key is in its text, so no key is looked up for a
live partner's.
"""

from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import quote_from_bytes

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from partners.api.request import PartnerRequest
from partners.authentication import keys
from partners.authentication.failures import BEFORE_THE_KEY, AuthenticationFailure, SignatureRefusedError
from partners.authentication.keys import Caller
from partners.models import KEY_PREFIXES, Mode
from partners.signing.explanation import explain
from partners.signing.signatures import NotUtf8Error

log = structlog.get_logger("partners.diagnosis")

# The causes on the wire that are known without the signature.
_KNOWN = {
    AuthenticationFailure.MISSING_HEADER: "headerMissing",
    AuthenticationFailure.MALFORMED_TIMESTAMP: "timestampFormat",
    AuthenticationFailure.CLOCK_SKEW: "clockSkew",
    AuthenticationFailure.REPLAY: "reused",
}
_EXCHANGED = (
    "X-Api-Key holds a secret: key and secret are exchanged. Send the API key, which begins with psi_test_key_, sign"
    " with the secret, and rotate this one, because it was sent."
)
_HEADERS = ("Host", "X-Api-Key", "X-Request-Timestamp", "X-Request-Signature", "Idempotency-Key")
_PRINTABLE = "".join(map(chr, range(33, 127)))


def diagnose(request: PartnerRequest, refusal: SignatureRefusedError) -> Caller | None:
    """Give the refusal its diagnosis if the API key is a sandbox key in force; return that key's caller."""
    caller = _sandbox_caller(request, refusal)
    if caller is None:
        if (request.header("HTTP_X_API_KEY") or "").startswith(keys.SECRET_PREFIXES[Mode.SANDBOX]):
            refusal.diagnosis = _of_exchanged(request)
        return None
    try:
        refusal.diagnosis = _diagnosis(request, refusal, caller.secret)
    except NotUtf8Error:
        # There is no canonical request.
        pass
    except Exception:
        # The response is a 401 all the same.
        log.exception("refusal could not be explained")
    return caller


def _of_exchanged(request: PartnerRequest) -> dict[str, str] | None:
    """The diagnosis of a test secret in place of the key: by its prefix alone, whether or not it is a secret."""
    with suppress(NotUtf8Error):
        canonical = request.canonical_request(request.header("HTTP_X_REQUEST_TIMESTAMP") or "")
        return {"cause": "secret", "message": _EXCHANGED, "canonicalRequest": keys.masked(canonical)}
    # There is no canonical request.
    return None


def _sandbox_caller(request: PartnerRequest, refusal: SignatureRefusedError) -> Caller | None:
    if not (request.header("HTTP_X_API_KEY") or "").startswith(KEY_PREFIXES[Mode.SANDBOX]):
        return None
    caller = refusal.caller
    if refusal.failure in BEFORE_THE_KEY:
        try:
            caller, _ = keys.find_caller(request.key_digest)
        except (DatabaseError, InterfaceError):
            return None
    return caller if caller is not None and caller.is_active and caller.mode == Mode.SANDBOX else None


def _diagnosis(request: PartnerRequest, refusal: SignatureRefusedError, secret: str) -> dict[str, str]:
    canonical = request.canonical_request(request.header("HTTP_X_REQUEST_TIMESTAMP") or "")
    sent = {name: request.header("HTTP_" + name.upper().replace("-", "_")) for name in _HEADERS}
    query = quote_from_bytes(request.query_bytes, safe=_PRINTABLE)
    cause, message = explain(
        method=request.method,
        target=request.canonical_path + (f"?{query}" if query else ""),
        headers={name: value for name, value in sent.items() if value is not None},
        body=request.body_bytes,
        known=_KNOWN.get(refusal.failure, ""),
        secret=secret,
        now=datetime.now(UTC),
        clock_skew_seconds=settings.CLOCK_SKEW_SECONDS,
    )
    return {"cause": cause, "message": message or refusal.message, "canonicalRequest": keys.masked(canonical)}
