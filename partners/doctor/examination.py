"""The whole of an examination, from what was pasted to what page and command show."""

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

NOTHING_FOUND = Cause(
    "nothing-found",
    NOTE,
    "Nothing wrong was found",
    "The request has all that it needs; whether its signature is right cannot be seen without a secret.",
    "Give the canonical request that your code signed as well, or try a test secret on the candidates.",
)


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
    findings = [*sent.remarks, *checks.run(_GROUPS, sent, clock)]
    if theirs is not None:
        if theirs != canonical:
            findings.append(remarks.API_KEY_ELSEWHERE.found())
        findings.extend(diagnosis.compare(sent, known, theirs))
    elif all(finding.level is NOTE for finding in findings):
        findings.append(NOTHING_FOUND.found())
    findings.sort(key=lambda finding: _LEVELS.index(finding.level))
    return Examination(sent, theirs, findings, candidates(sent, known))


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
        NOTHING_FOUND,
    ]
