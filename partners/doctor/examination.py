"""The whole of an examination, from what was pasted to what page and command show."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from partners.doctor import (
    checks,
    checks_body,
    checks_credentials,
    checks_request,
    checks_timestamp,
    comparison,
    diagnosis,
    guesses,
    layout,
    line_marks,
    reading,
    remarks,
)
from partners.doctor.candidates import Candidate, candidates
from partners.doctor.findings import NOTE, Cause, Finding, Level
from partners.doctor.sent import Sent

_GROUPS = (*checks_credentials.GROUPS, *checks_timestamp.GROUPS, *checks_request.GROUPS, *checks_body.GROUPS)
_LEVELS = list(Level)

WELL_FORMED = Cause(
    "well-formed",
    NOTE,
    "This request is well formed",
    "It has all that it needs, but what your program signed cannot be seen from it, nor whether the secret is the right"
    " one. The signature was not made without a secret, under an empty one or under the API key: that was tried.",
    "To find the difference, paste the canonical request that your program built.",
)
# Of a request that was not sent just now these say nothing.
_OF_THE_CLOCK = {"clock-behind", "local-time-as-utc"}


@dataclass(frozen=True)
class Examination:
    """What was found. canonical: what the sender built, API keys in it masked; None where it was not given."""

    sent: Sent = field(repr=False)
    canonical: str | None = field(repr=False)
    findings: list[Finding]
    may_have_signed: list[Candidate] = field(repr=False)

    @property
    def signature(self) -> str | None:
        """The signature sent, in lower-case hex, however it is written; None where it is none."""
        return checks_credentials.signature_in_hex(self.sent.signature)

    def as_json(self) -> dict[str, Any]:
        """What the page and `--json` show."""
        ours = self.sent.canonical_lines
        return {
            "canonicalRequest": "\n".join(ours),
            **comparison.side_by_side(ours, self.canonical),
            "findings": [finding.as_json() for finding in self.findings],
            "signature": self.signature,
            "candidates": [candidate.as_json() for candidate in self.may_have_signed],
            "request": {
                "method": self.sent.method,
                "target": self.sent.target,
                "headersSeen": [name for name, _ in self.sent.headers],
                "bodyBytes": len(self.sent.body),
            },
        }


def examine(
    request: str, canonical: str | None, *, now: datetime | None = None, clock_skew_seconds: int = 300
) -> dict[str, Any]:
    """What can be said of a request and of the canonical request that its sender built, as JSON.

    request: raw HTTP, or a curl command. canonical: None or empty where it is not given. now: the
    service's time; the present where it is not given. clock_skew_seconds: contract, section 3.
    Raises NotUnderstoodError, and SecretPastedError where either text holds a secret.
    """
    return look(request, canonical, now=now, clock_skew_seconds=clock_skew_seconds).as_json()


def look(
    request: str, canonical: str | None, *, now: datetime | None = None, clock_skew_seconds: int = 300
) -> Examination:
    """The same as `examine`, before it becomes JSON."""
    sent = reading.read(request)
    theirs = reading.masked(reading.harmless(canonical)) if canonical else None
    known = diagnosis.shown(sent)
    clock = checks.Clock(now or datetime.now(UTC), clock_skew_seconds)
    may_have_signed = candidates(sent, known)
    findings = [*sent.remarks, *checks.run(_GROUPS, sent, clock), *_recognised(sent, may_have_signed, theirs)]
    if theirs is not None:
        if theirs != canonical:
            findings.append(remarks.API_KEY_ELSEWHERE.found())
        findings.extend(diagnosis.compare(sent, known, theirs))
    elif all(finding.level is NOTE or finding.cause in _OF_THE_CLOCK for finding in findings):
        findings.append(WELL_FORMED.found())
    findings.sort(key=lambda finding: _LEVELS.index(finding.level))
    return Examination(sent, theirs, findings, may_have_signed)


def _recognised(sent: Sent, may_have_signed: Sequence[Candidate], theirs: str | None) -> Iterator[Finding]:
    own = [] if theirs is None else [Candidate("own", "the canonical request that you pasted", theirs)]
    if found := guesses.recognised(sent, [*may_have_signed, *own]):
        yield found


def causes() -> list[Cause]:
    """Every cause that an examination may find."""
    return [
        *remarks.CAUSES,
        *(check.cause for group in _GROUPS for check in group),
        *(mark.cause for mark in line_marks.MARKS),
        *(joint.cause for joint in layout.JOINTS),
        *layout.CAUSES,
        *(mistake.cause for mistake in diagnosis.MISTAKES),
        *diagnosis.CAUSES,
        *guesses.CAUSES,
        WELL_FORMED,
    ]
