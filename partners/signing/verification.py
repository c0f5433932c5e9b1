"""Finds the canonical request that a pasted signature was made for; no output contains the secret."""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from partners.signing.diagnosis import CORRECT, Candidate, Diagnosis

_SECRET_PREFIX = re.compile(r"\Apsi_(?:test_)?secret_")
UNDECRYPTABLE = "secretLost"
# The keys are states of API keys.
_STATES = {
    "missing": "The request has no API key: there is no secret to try.",
    "unknown": "Unknown API key: there is no secret to try.",
    "revoked": "API key {prefix} of {partner} is revoked.",
    "expired": "API key {prefix} of {partner} has expired.",
    "partnerDisabled": "API key {prefix} belongs to {partner}, which is disabled.",
    UNDECRYPTABLE: "The secret of API key {prefix} of {partner} cannot be decrypted.",
    "active": "API key {prefix} of {partner} is in force.",
}
AS_ISSUED = "as issued"
# What files and editors leave around a secret.
_SURROUNDINGS = {
    "a line feed at its end": "{}\n",
    "a carriage return at its end": "{}\r",
    "CRLF at its end": "{}\r\n",
    "a blank at its end": "{} ",
    "a blank before it": " {}",
    "a blank before and after it": " {} ",
    "a tab at its end": "{}\t",
    "a tab before it": "\t{}",
    "a byte order mark before it": "\ufeff{}",
    "a byte order mark before it and a line feed at its end": "\ufeff{}\n",
    "a byte order mark before it and CRLF at its end": "\ufeff{}\r\n",
    "apostrophes around it": "'{}'",
}
# Makes the bytes of a signature of a text.
Signer = Callable[[bytes], bytes]


class Verification(NamedTuple):
    """The result for support.

    tried: the number of canonical requests tried. match: the one that was signed. secret_form: how the secret was used.
    of_the_clock: a sentence, or "".
    """

    key_state: str
    prefix: str = ""
    partner: str = ""
    tried: int = 0
    match: Candidate | None = None
    secret_form: str = ""
    # What the clock has to do with it, where the signature is right.
    of_the_clock: str = ""

    def as_json(self) -> dict[str, Any]:
        """The object for `--json`."""
        match = self.match and {"cause": self.match.cause, "title": self.match.title, "secretForm": self.secret_form}
        key = {"state": self.key_state, "prefix": self.prefix or None, "partner": self.partner or None}
        return {"apiKey": key, "tried": self.tried, "fits": match}

    def sentences(self) -> Iterator[str]:
        """The result for people."""
        yield _STATES[self.key_state].format(prefix=self.prefix, partner=self.partner)
        if self.match is None:
            if self.tried:
                yield (
                    f"The signature matches none of {self.tried} canonical requests under this key's secret: it was"
                    " made with another secret, or for another request."
                )
            return
        used = "" if self.secret_form == AS_ISSUED else f", with {self.secret_form}"
        if self.match.cause == CORRECT:
            yield f"The signature matches the request{used}.{self.of_the_clock}"
        else:
            yield f"The signature matches this mistake{used}: {self.match.title} [{self.match.cause}]"


def verify(diagnosis: Diagnosis, *, key_state: str, prefix: str, partner: str, secret: str) -> Verification:
    """Try the secret of the request's API key on the canonical requests that may have been signed."""
    result = Verification(key_state, prefix, partner)
    if diagnosis.signature is None or key_state == UNDECRYPTABLE:
        return result
    candidates = list(diagnosis.candidates)
    if diagnosis.canonical is not None:
        candidates.append(Candidate("own", "The canonical request that the partner's code built", diagnosis.canonical))
    match, secret_form = _match(secret, candidates, bytes.fromhex(diagnosis.signature))
    return result._replace(
        tried=len(candidates), match=match, secret_form=secret_form, of_the_clock=_of_the_clock(diagnosis)
    )


def _of_the_clock(diagnosis: Diagnosis) -> str:
    if diagnosis.is_ahead:
        return " It is refused for its timestamp, which is ahead."
    return " It was refused for its timestamp, unless it arrived in time." if diagnosis.is_stale else ""


def signers(secret: str) -> dict[str, Signer]:
    """Return how programs sign with a secret, by what they use; the right way is first."""
    bare = _SECRET_PREFIX.sub("", secret)
    keys = {
        AS_ISSUED: secret.encode(),
        "the secret without its prefix": bare.encode(),
        "the secret decoded from Base64": base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4)),
        "the secret in quotation marks": f'"{secret}"'.encode(),
        **{f"the secret with {what}": form.format(secret).encode() for what, form in _SURROUNDINGS.items()},
    }
    return {
        **{what: partial(_hmac, key) for what, key in keys.items()},
        "a plain SHA-256 of the secret and the text, not the HMAC": lambda text: _sha256(secret.encode() + text),
        "a plain SHA-256 of the text and the secret, not the HMAC": lambda text: _sha256(text + secret.encode()),
    }


def _hmac(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")


def _sha256(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()


def _match(secret: str, candidates: list[Candidate], signature: bytes) -> tuple[Candidate | None, str]:
    for form, sign in signers(secret).items():
        for candidate in candidates:
            if hmac.compare_digest(sign(candidate.canonical_request.encode()), signature):
                return candidate, form
    return None, ""
