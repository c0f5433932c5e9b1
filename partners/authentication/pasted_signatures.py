"""Which canonical request a pasted signature fits under the stored secret, for support.

The secret is decrypted in memory, as for a request, and is in no output.
"""

import base64
import hmac
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from partners.authentication import keys
from partners.doctor.diagnosis import CORRECT, Candidate, Diagnosis
from partners.models import Partner
from partners.services import keys_with_state


class KeyState(StrEnum):
    """The state of a request's API key."""

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
AS_ISSUED = "as issued"


class Fit(NamedTuple):
    """A canonical request that the signature fits. secret_form: how the secret was used."""

    candidate: Candidate
    secret_form: str


class Verified(NamedTuple):
    """What support learns. tried: how many canonical requests; 0 where there is no key or no signature."""

    key_state: KeyState
    prefix: str = ""
    partner: str = ""
    tried: int = 0
    fit: Fit | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the object for `--json`."""
        fit = self.fit and {
            "cause": self.fit.candidate.cause,
            "title": self.fit.candidate.title,
            "secretForm": self.fit.secret_form,
        }
        key = {"state": self.key_state.value, "prefix": self.prefix or None, "partner": self.partner or None}
        return {"apiKey": key, "tried": self.tried, "fits": fit}

    def sentences(self) -> Iterator[str]:
        """Return the sentences for people."""
        yield _OF_KEY[self.key_state].format(prefix=self.prefix, partner=self.partner)
        if self.fit is None:
            if self.tried:
                yield (
                    f"The signature fits none of {self.tried} canonical requests under this key's secret: it was made"
                    " with another secret, or over something else."
                )
            return
        candidate, form = self.fit
        used = "" if form == AS_ISSUED else f", with {form}"
        if candidate.cause == CORRECT:
            yield f"The signature fits the request{used or ': it was valid at its time'}."
        else:
            yield f"The signature fits this mistake{used}: {candidate.title} [{candidate.cause}]"


def verify(diagnosis: Diagnosis) -> Verified:
    """Look the request's API key up and try its secret on the canonical requests that may have been signed."""
    api_key, signature = diagnosis.request.api_key, diagnosis.signature
    caller = keys.find_caller(keys.digest(api_key))[0] if api_key else None
    if caller is None:
        return Verified(KeyState.UNKNOWN if api_key else KeyState.MISSING)
    state = _state(caller)
    if signature is None or state is KeyState.SECRET_LOST:
        return Verified(state, caller.key_prefix, caller.partner_slug)
    candidates = list(diagnosis.candidates)
    if diagnosis.canonical is not None:
        candidates.append(Candidate("own", "The canonical request that the partner's code built", diagnosis.canonical))
    fit = _fit(caller.secret, candidates, bytes.fromhex(signature))
    return Verified(state, caller.key_prefix, caller.partner_slug, len(candidates), fit)


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
    yield "the secret without its prefix", bare.encode()
    yield "the secret decoded from Base64", base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
