"""Signatures that can be recognised without the secret: made without one, or with what is no secret."""

import hashlib
import hmac
from collections.abc import Callable, Sequence

from partners.doctor.candidates import CORRECT, Candidate
from partners.doctor.checks_credentials import signature_in_hex
from partners.doctor.findings import ERROR, Cause, Finding
from partners.doctor.sent import Sent

EMPTY_SECRET = Cause(
    "signed-with-empty-secret",
    ERROR,
    "The signature was made with an empty secret",
    "It is the HMAC under a secret of no characters, as where a variable is not set.{text_error}",
    "Have your program read the secret that was issued with the API key, and stop where it finds none.",
)
API_KEY_AS_SECRET = Cause(
    "signed-with-api-key",
    ERROR,
    "The signature was made with the API key",
    "It is the HMAC under the API key, which takes the place of the secret.{text_error}",
    "Use the secret that was issued with the API key.",
)
NO_HMAC = Cause(
    "hash-instead-of-hmac",
    ERROR,
    "The signature is a SHA-256 without a secret",
    "It is the plain SHA-256 of the text, which anybody can compute.{text_error}",
    "Compute the HMAC-SHA256 of the canonical request, with the secret as its key.",
)
CAUSES = (EMPTY_SECRET, API_KEY_AS_SECRET, NO_HMAC)


def recognised(sent: Sent, signed: Sequence[Candidate]) -> Finding | None:
    """How the signature was made, where it took no secret; None where that does not show.

    signed: texts that may have been signed.
    """
    signature = signature_in_hex(sent.signature)
    api_key = sent.header("X-Api-Key").encode()
    ways: tuple[tuple[Cause, Callable[[bytes], str]], ...] = (
        (EMPTY_SECRET, lambda text: hmac.digest(b"", text, "sha256").hex()),
        (API_KEY_AS_SECRET, lambda text: hmac.digest(api_key, text, "sha256").hex()),
        (NO_HMAC, lambda text: hashlib.sha256(text).hexdigest()),
    )
    for candidate in signed:
        text = candidate.canonical_request.encode()
        for cause, made in ways:
            if made(text) == signature:
                return cause.found(text_error=_text_error(candidate))
    return None


def _text_error(candidate: Candidate) -> str:
    """A sentence on what is wrong with the text that was signed; empty if it is right."""
    return "" if candidate.cause == CORRECT else f" What was signed is not right either: {candidate.title}."
