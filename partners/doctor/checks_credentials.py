"""What key and signature of a request show by themselves: contract, section 3."""

import base64
import binascii
import re

from partners.doctor.checks import Check, Clock, Groups, is_quoted
from partners.doctor.findings import ERROR, Cause
from partners.doctor.mistakes import Verdict
from partners.doctor.sent import Sent

# As keys.issue makes it.
API_KEY = re.compile(r"psi_key_[A-Za-z0-9_\-]{43}")

_HEX_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_HEX = re.compile(r"[0-9a-fA-F]+")
_LABELLED = re.compile(r"(?:hmac[-_ ]?)?(?:sha[-_]?256|signature|v\d)\s*[=: ]\s*.+|0x.+", re.IGNORECASE)


def _no_key(sent: Sent, _: Clock) -> Verdict:
    return not sent.header("X-Api-Key")


def _key_quoted(sent: Sent, _: Clock) -> Verdict:
    return is_quoted(sent.header("X-Api-Key"))


def _key_malformed(sent: Sent, _: Clock) -> Verdict:
    key = sent.header("X-Api-Key")
    return False if API_KEY.fullmatch(key) else {"length": len(key)}


def _no_signature(sent: Sent, _: Clock) -> Verdict:
    return not sent.signature


def _signature_labelled(sent: Sent, _: Clock) -> Verdict:
    return bool(_LABELLED.fullmatch(sent.signature))


def _signature_quoted(sent: Sent, _: Clock) -> Verdict:
    return is_quoted(sent.signature)


def _signature_base64(sent: Sent, _: Clock) -> Verdict:
    return signature_of_base64(sent.signature) is not None


def signature_of_base64(text: str) -> str | None:
    """The hex of a signature that was written in Base64, of its bytes or of their hex; None where it is none."""
    try:
        decoded = base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(decoded) == 32:  # noqa: PLR2004 - bytes of a SHA-256
        return decoded.hex()
    return decoded.decode().lower() if decoded.isascii() and _HEX_SHA256.fullmatch(decoded.decode()) else None


def signature_in_hex(text: str) -> str | None:
    """The 64 hex digits that a signature holds, whatever is wrong with how it is written; None where it holds none."""
    found = _HEX_SHA256.search(text)
    return found[0].lower() if found else signature_of_base64(text)


def _signature_of_other_length(sent: Sent, _: Clock) -> Verdict:
    is_hex = _HEX.fullmatch(sent.signature) and not _HEX_SHA256.fullmatch(sent.signature)
    return {"length": len(sent.signature)} if is_hex else False


def _signature_malformed(sent: Sent, _: Clock) -> Verdict:
    return not _HEX_SHA256.fullmatch(sent.signature)


def _cause(code: str, title: str, explanation: str, remedy: str) -> Cause:
    return Cause(code, ERROR, title, explanation, remedy)


GROUPS: Groups = (
    (
        Check(
            _cause(
                "api-key-missing",
                "X-Api-Key is missing",
                "Nobody can say whose request it is, nor which secret it was signed with.",
                "Send your API key in the header X-Api-Key.",
            ),
            _no_key,
        ),
        Check(
            _cause(
                "api-key-quoted",
                "X-Api-Key is in quotation marks",
                "They arrive as part of the key, and no key has them.",
                "Send the key without them.",
            ),
            _key_quoted,
        ),
        Check(
            _cause(
                "api-key-malformed",
                "X-Api-Key is no API key",
                "A key is psi_key_ and 43 letters, digits, - or _, 51 characters in all; this value has {length}.",
                "Copy the whole key; mind a space, a placeholder, or a value that is not the key at all.",
            ),
            _key_malformed,
        ),
    ),
    (
        Check(
            _cause(
                "signature-missing",
                "X-Request-Signature is missing",
                "The request is not signed.",
                "Send the hex HMAC-SHA256 of the canonical request.",
            ),
            _no_signature,
        ),
        Check(
            _cause(
                "signature-quoted",
                "The signature is in quotation marks",
                "They arrive as part of the signature, which is then no hex.",
                "Send the signature without them.",
            ),
            _signature_quoted,
        ),
        Check(
            _cause(
                "signature-labelled",
                "The signature has a label before it",
                "The header holds the 64 hex digits alone, without the function's name or 0x.",
                "Leave out what stands before the digits.",
            ),
            _signature_labelled,
        ),
        Check(
            _cause(
                "base64-instead-of-hex",
                "The signature is in Base64",
                "It is a signature of the right length, but in Base64; the service takes hex.",
                "Write the bytes of the HMAC as 64 hex digits.",
            ),
            _signature_base64,
        ),
        Check(
            _cause(
                "signature-of-other-length",
                "The signature has another length",
                "HMAC-SHA256 has 64 hex digits; this has {length}, as if it was cut, or made by another function.",
                "Use HMAC with SHA-256, and send all of its digits.",
            ),
            _signature_of_other_length,
        ),
        Check(
            _cause(
                "signature-malformed",
                "The signature is not hex",
                "The header has to hold 64 hex digits and nothing else.",
                "Write the bytes of the HMAC as 64 hex digits.",
            ),
            _signature_malformed,
        ),
    ),
)
