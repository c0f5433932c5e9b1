"""Which canonical request a pasted signature fits under the stored secret, for support.

The secret is decrypted in memory, as for a request, and is part of nothing that comes out.
"""

import base64
import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from partners import keys
from partners.administration import keys_with_state
from partners.doctor.candidates import CORRECT, Candidate
from partners.doctor.checks_credentials import signature_in_hex
from partners.doctor.examination import Examination
from partners.models import Partner


class KeyState(StrEnum):
    """Where the API key of a request stands."""

    MISSING = "missing"
    UNKNOWN = "unknown"
    REVOKED = "revoked"
    EXPIRED = "expired"
    PARTNER_DISABLED = "partnerDisabled"
    SECRET_LOST = "secretLost"  # noqa: S105 - a state
    ACTIVE = "active"


_OF_KEY = {
    KeyState.MISSING: "The request has no API key: there is no secret to try.",
    KeyState.UNKNOWN: "No partner has this API key: there is no secret to try.",
    KeyState.REVOKED: "API key {prefix} of {partner} is revoked.",
    KeyState.EXPIRED: "API key {prefix} of {partner} has expired.",
    KeyState.PARTNER_DISABLED: "API key {prefix} is of {partner}, who is disabled.",
    KeyState.SECRET_LOST: "The secret of API key {prefix} of {partner} cannot be decrypted any more.",
    KeyState.ACTIVE: "API key {prefix} of {partner} is in force.",
}

# How a secret may have been used, by what is to be said of it; "" as it should be.
AS_ISSUED, WITHOUT_PREFIX, DECODED = "", "the secret without its prefix", "the secret decoded from Base64"


@dataclass(frozen=True, slots=True)
class Fit:
    """A canonical request that the signature fits. secret_form: how the secret was used."""

    candidate: Candidate
    secret_form: str


@dataclass(frozen=True, slots=True)
class Verified:
    """What support is told. tried: how many canonical requests; 0 where key or signature are none."""

    key_state: KeyState
    prefix: str
    partner: str
    tried: int
    fit: Fit | None

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        fit = self.fit and {
            "cause": self.fit.candidate.cause,
            "title": self.fit.candidate.title,
            "secretForm": self.fit.secret_form or "as issued",
        }
        return {
            "apiKey": {"state": self.key_state.value, "prefix": self.prefix or None, "partner": self.partner or None},
            "tried": self.tried,
            "fits": fit,
        }

    def sentences(self) -> Iterator[str]:
        """For people."""
        yield _OF_KEY[self.key_state].format(prefix=self.prefix, partner=self.partner)
        if self.fit is None:
            if self.tried:
                yield (
                    f"The signature fits none of {self.tried} canonical requests under this key's secret: it was made"
                    " with another secret, or over something else."
                )
            return
        used = f", with {self.fit.secret_form}" if self.fit.secret_form else ""
        if self.fit.candidate.cause == CORRECT:
            yield f"The signature fits the request{used}{'' if used else ': it was valid at its time'}."
        else:
            candidate = self.fit.candidate
            yield f"The signature fits what comes of this{used}: {candidate.title} [{candidate.cause}]"


def verify(examination: Examination) -> Verified:
    """Looks the request's API key up and tries its secret on the canonical requests that may have been signed."""
    api_key = examination.sent.header("X-Api-Key")
    caller = keys.find_caller(keys.digest(api_key))[0] if api_key else None
    if caller is None:
        return Verified(KeyState.UNKNOWN if api_key else KeyState.MISSING, "", "", 0, None)
    state = _state(caller)
    signature = signature_in_hex(examination.sent.signature)
    if signature is None or state is KeyState.SECRET_LOST:
        return Verified(state, caller.key_prefix, caller.partner_slug, 0, None)
    candidates = [*examination.may_have_signed, *_own(examination)]
    fit = _fit(caller.secret, candidates, bytes.fromhex(signature))
    return Verified(state, caller.key_prefix, caller.partner_slug, len(candidates), fit)


def _own(examination: Examination) -> Iterator[Candidate]:
    if examination.canonical is not None:
        yield Candidate("own", "The canonical request that the partner's code built", examination.canonical)


def _state(caller: keys.Caller) -> KeyState:
    partner = Partner.objects.get(pk=caller.partner_id)
    state = next(KeyState(state) for key, state in keys_with_state(partner) if key.pk == caller.key_id)
    if state is not KeyState.ACTIVE:
        return state
    if not caller.may_call:
        return KeyState.PARTNER_DISABLED
    return KeyState.SECRET_LOST if caller.secret_is_lost else KeyState.ACTIVE


def _fit(secret: str, candidates: list[Candidate], signature: bytes) -> Fit | None:
    for form, key in _secret_forms(secret):
        for candidate in candidates:
            expected = hmac.digest(key, candidate.canonical_request.encode(), "sha256")
            if hmac.compare_digest(expected, signature):
                return Fit(candidate, form)
    return None


def _secret_forms(secret: str) -> Iterator[tuple[str, bytes]]:
    bare = secret.removeprefix(keys.SECRET_PREFIX)
    yield AS_ISSUED, secret.encode()
    yield WITHOUT_PREFIX, bare.encode()
    yield DECODED, base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
