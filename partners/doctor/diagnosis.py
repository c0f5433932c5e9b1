"""The diagnosis: from what was pasted to what the page and the command show."""

import hashlib
import hmac
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice, zip_longest
from typing import Any, NamedTuple

from partners.doctor import checks, layout, parsing
from partners.doctor.causes import BODY, LINES, NOTE, PATH, QUERY, Cause, Finding, Level
from partners.doctor.mistakes import MISTAKES, SURROUNDINGS, WrongLine, wrong_lines
from partners.doctor.request import PastedRequest

MOST_CANDIDATES = 60
CORRECT = "correct"

# fmt: off
WELL_FORMED = Cause(
    "well-formed", "This request is well formed",
    "To find the difference, paste the canonical request that your program built.",
    "It has all that it needs, but what your program signed cannot be seen from it, nor whether the secret is the right"
    " one. The signature was not made without a secret, with an empty one or with the API key: that was tried.", NOTE)
RIGHT = Cause(
    "canonical-right", "Your canonical request is right",
    "Check that the secret belongs to this very key, is used as issued with psi_secret_ in front and not decoded, and"
    " that the HMAC takes the secret as its key and the text as its message, both in UTF-8.",
    "It is the same, byte for byte; if the signature is refused, the fault is in the HMAC or in the key.", NOTE)
UNSAFE_SIGNATURES: tuple[tuple[Cause, Callable[[bytes, bytes], bytes]], ...] = (
    (Cause("signed-with-empty-secret", "The signature was made with an empty secret",
           "Have your program read the secret that was issued with the API key, and stop where it finds none.",
           "It is the HMAC with a secret of no characters, as where a variable is not set.{text_error}"),
     lambda text, _: hmac.digest(b"", text, "sha256")),
    (Cause("signed-with-api-key", "The signature was made with the API key",
           "Use the secret that was issued with the API key.",
           "It is the HMAC with the API key in place of the secret.{text_error}"),
     lambda text, api_key: hmac.digest(api_key, text, "sha256")),
    (Cause("hash-instead-of-hmac", "The signature is a SHA-256 without a secret",
           "Compute the HMAC-SHA256 of the canonical request, with the secret as its key.",
           "It is the plain SHA-256 of the text, which anybody can compute.{text_error}"),
     lambda text, _: hashlib.sha256(text).digest()),
)
# fmt: on
# Where the query is in the path's line, it says no more that line 3 is without it.
_QUERY_IN_PATH = {"query-in-path", "url-instead-of-path", "path-with-prefix"}
# These say nothing of a request that was not sent just now.
_OF_THE_CLOCK = {"clock-behind", "local-time-as-utc"}


class Candidate(NamedTuple):
    """A text that may have been signed, and the mistake that makes it."""

    cause: str
    title: str
    canonical_request: str


@dataclass(frozen=True)
class Diagnosis:
    """What was found. canonical: what the partner's program built, API keys in it masked; None where not given."""

    request: PastedRequest = field(repr=False)
    canonical: str | None = field(repr=False)
    findings: list[Finding]
    candidates: list[Candidate] = field(repr=False)

    @property
    def signature(self) -> str | None:
        """The signature sent, in lower-case hex, however it is written; None where there is none."""
        return checks.signature_in_hex(self.request.signature)

    def as_json(self) -> dict[str, Any]:
        """Return what the page and `--json` show."""
        ours = self.request.canonical_lines
        return {
            "canonicalRequest": "\n".join(ours),
            **side_by_side(ours, self.canonical),
            "findings": self.findings,
            "signature": self.signature,
            "candidates": [{"cause": one[0], "title": one[1], "canonicalRequest": one[2]} for one in self.candidates],
            "request": {
                "method": self.request.method,
                "target": self.request.target,
                "headersSeen": [name for name, _ in self.request.headers],
                "bodyBytes": len(self.request.body),
            },
        }


def examine(
    request: str, canonical: str | None, *, now: datetime | None = None, clock_skew_seconds: int = 300
) -> dict[str, Any]:
    """Return the diagnosis as JSON: see `diagnose`."""
    return diagnose(request, canonical, now=now, clock_skew_seconds=clock_skew_seconds).as_json()


def diagnose(
    request: str, canonical: str | None, *, now: datetime | None = None, clock_skew_seconds: int = 300
) -> Diagnosis:
    """Return what can be said of a request and of the canonical request that its sender built.

    request: raw HTTP, or a curl command. canonical: None or empty where it is not given. now: the
    service's time; the present where it is not given. clock_skew_seconds: contract, section 3.
    Raises NotUnderstoodError, and SecretPastedError where either text holds a secret.
    """
    pasted = parsing.parse(request)
    parsing.require_harmless(canonical or "")
    theirs = parsing.masked(canonical) if canonical else None
    wrong = wrong_lines(pasted)
    candidates = list(islice(_candidates(pasted, wrong), MOST_CANDIDATES)) if pasted.is_utf8 else []
    clock = checks.Clock(now or datetime.now(UTC), clock_skew_seconds)
    findings = [*pasted.findings, *checks.check(pasted, clock), *_unsafe_signature(pasted, candidates, theirs)]
    if theirs is not None:
        if theirs != canonical:
            findings.append(parsing.API_KEY_ELSEWHERE.found())
        findings.extend(_compare(pasted, wrong, theirs))
    elif all(finding["level"] is NOTE or finding["cause"] in _OF_THE_CLOCK for finding in findings):
        findings.append(WELL_FORMED.found())
    findings.sort(key=lambda finding: list(Level).index(finding["level"]))
    return Diagnosis(pasted, theirs, findings, candidates)


def _compare(request: PastedRequest, wrong: Sequence[WrongLine], theirs: str) -> Iterator[Finding]:
    """Return what is wrong with the canonical request that somebody built."""
    ours = request.canonical_lines
    if theirs == "\n".join(ours):
        yield RIGHT.found()
        return
    for joint in layout.JOINTS:
        undone = joint.undo(theirs, ours)
        if undone != theirs:
            yield joint.found()
        theirs = undone
    lines, findings = layout.align(ours, _with_body_as_one(request, theirs.split("\n")))
    yield from findings
    path_cause = None
    for index, (our, line) in enumerate(zip(ours, lines, strict=True)):
        if line is not None and line != our:
            finding = _of_line(request, wrong, index, line)
            if index != QUERY or finding["cause"] != "query-not-signed" or path_cause not in _QUERY_IN_PATH:
                yield finding
            path_cause = finding["cause"] if index == PATH else path_cause


def _with_body_as_one(request: PastedRequest, lines: list[str]) -> list[str]:
    """Return the lines, with a body of several at the end of them as one."""
    body, end = request.body_text.replace("\r\n", "\n"), "\n".join(lines[BODY:])
    return [*lines[:BODY], end] if "\n" in body and end.strip() == body.strip() else lines


def _of_line(request: PastedRequest, wrong: Sequence[WrongLine], index: int, line: str) -> Finding:
    """Return the cause of a line that differs; the last mistake of the line's table where no other gives it."""
    for surrounding in SURROUNDINGS:
        if surrounding.undo(line) == request.canonical_lines[index]:
            return surrounding.found(line=index)
    for mistake, forms in ((one.mistake, one.forms) for one in wrong if one.line == index):
        if verdict := line in forms or mistake.matches(request, line):
            return mistake.found(line=index, facts=verdict)
    return MISTAKES[index][-1].found(line=index)


def _candidates(request: PastedRequest, wrong: Sequence[WrongLine]) -> Iterator[Candidate]:
    """Return each text once, the right one first; of each mistake its likeliest form, then of each the next."""
    lines = request.canonical_lines
    right = Candidate(CORRECT, "As the contract has it", "\n".join(lines))
    of_joints = [Candidate(one.code, one.title, text) for one in layout.JOINTS for text in one.forms(lines)]
    turns = zip_longest(*([_with_line(lines, one, form) for form in one.forms] for one in wrong))
    of_lines = [candidate for turn in turns for candidate in turn if candidate is not None]
    seen = set()
    for candidate in [right, *of_joints, *of_lines]:
        if candidate.canonical_request not in seen:
            seen.add(candidate.canonical_request)
            yield candidate


def _with_line(lines: Sequence[str], wrong: WrongLine, form: str) -> Candidate:
    changed = [*lines[: wrong.line], form, *lines[wrong.line + 1 :]]
    if wrong.line == PATH and "?" in form:
        changed[QUERY] = ""
    return Candidate(wrong.mistake.code, wrong.mistake.title, "\n".join(changed))


def _unsafe_signature(request: PastedRequest, candidates: list[Candidate], theirs: str | None) -> Iterator[Finding]:
    """Return how the signature was made, where it was made without the secret."""
    signature = checks.signature_in_hex(request.signature)
    own = [] if theirs is None else [Candidate("own", "the canonical request that you pasted", theirs)]
    for candidate in [*candidates, *own]:
        for cause, sign in UNSAFE_SIGNATURES:
            if sign(candidate.canonical_request.encode(), request.api_key.encode()).hex() == signature:
                is_right = candidate.cause == CORRECT
                text_error = "" if is_right else f" What was signed is not right either: {candidate.title}."
                yield cause.found(facts={"text_error": text_error})
                return


def side_by_side(ours: Sequence[str], theirs: str | None) -> dict[str, Any]:
    """Return the six lines beside those that somebody else built, what is left of these, and the first difference.

    Offsets count bytes of UTF-8 from 0; lines count from 1.
    """
    given = [] if theirs is None else theirs.split("\n")
    lines = []
    for name, our, line in zip(LINES, ours, [*given, *[None] * len(LINES)], strict=False):
        difference = None if line is None else _first_difference(our, line)
        differs = theirs is not None and our != line
        lines.append({"name": name, "ours": our, "theirs": line, "differs": differs, "firstDifference": difference})
    text = "\n".join(ours)
    offset = None if theirs is None else _first_difference(text, theirs)
    first = None
    if offset is not None:
        before = text.encode()[:offset]
        first = {"line": before.count(b"\n") + 1, "byte": offset - before.rfind(b"\n") - 1, "offset": offset}
    return {"lines": lines, "extraLines": given[len(LINES) :], "firstDifference": first}


def _first_difference(one: str, other: str) -> int | None:
    """Return the first byte where two texts differ, or where the shorter one ends; None where they are the same."""
    if one == other:
        return None
    pairs = enumerate(zip(one.encode(), other.encode(), strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one.encode()), len(other.encode())))
