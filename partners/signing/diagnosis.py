"""The diagnosis: from the pasted texts to what the page and the command show."""

import hashlib
import hmac
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice, zip_longest
from os.path import commonprefix
from typing import Any, NamedTuple

from partners.signing import checks, layout, parsing
from partners.signing.causes import BODY, LINES, PATH, QUERY, Finding, Level, finding
from partners.signing.mistakes import WrongLine, line_finding, wrong_lines
from partners.signing.request import PastedRequest

MAX_CANDIDATES = 60
CORRECT = "correct"

# Signatures that need no secret: the cause, the function of text and API key, and what it computes.
_UNSAFE_SIGNATURES: tuple[tuple[str, Callable[[bytes, bytes], bytes], str], ...] = (
    ("signed-with-empty-secret", lambda text, _: hmac.digest(b"", text, "sha256"), "the HMAC under an empty secret"),
    ("signed-with-api-key", lambda text, key: hmac.digest(key, text, "sha256"), "the HMAC under the API key"),
    ("hash-instead-of-hmac", lambda text, _: hashlib.sha256(text).digest(), "the plain SHA-256 of the text"),
)
# If the query is in the path line, line 3 without it is no mistake of its own.
_QUERY_IN_PATH = {"query-in-path", "url-instead-of-path", "path-with-prefix"}
# These say nothing about a request that was not sent just now.
_OF_THE_CLOCK = {"clock-behind", "local-time-as-utc"}
_AHEAD = {"clock-ahead", "local-time-ahead"}


class Candidate(NamedTuple):
    """A text that may have been signed, and the mistake that makes it. line: the index of one that is left out."""

    cause: str
    title: str
    canonical_request: str
    line: int | None = None


@dataclass(frozen=True)
class Diagnosis:
    """The result. canonical: the text that the partner signed, API keys masked; None if not pasted."""

    request: PastedRequest = field(repr=False)
    canonical: str | None = field(repr=False)
    findings: list[Finding]
    candidates: list[Candidate] = field(repr=False)

    @property
    def signature(self) -> str | None:
        """The signature sent, in lower-case hex; None if there is none."""
        return checks.signature_in_hex(self.request.signature)

    @property
    def is_stale(self) -> bool:
        """Whether the timestamp is outside the window now; the request may have been sent in time."""
        return any(one["cause"] in _OF_THE_CLOCK for one in self.findings)

    @property
    def is_ahead(self) -> bool:
        """Whether the timestamp is ahead of the service's clock by more than is allowed, now and when it was sent."""
        return any(one["cause"] in _AHEAD for one in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Return what the page and `--json` show."""
        ours = self.request.canonical_lines
        return {
            "canonicalRequest": "\n".join(ours),
            **_side_by_side(ours, self.canonical),
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


def diagnose(
    request: str, canonical: str | None, *, now: datetime | None = None, clock_skew_seconds: int = 300
) -> Diagnosis:
    """Return the diagnosis of a request and of the canonical request that the partner's code built.

    request: raw HTTP, or a curl command. canonical: None or empty if not known. now: the service's time.
    clock_skew_seconds: contract, section 3.
    Raises NotUnderstoodError, and SecretPastedError if either text holds a secret.
    """
    pasted = parsing.parse(request)
    parsing.require_harmless(canonical or "")
    theirs = parsing.masked(canonical) if canonical else None
    wrong = wrong_lines(pasted)
    candidates = list(islice(likely_texts(pasted, wrong), MAX_CANDIDATES)) if pasted.is_utf8 else []
    findings = [
        *pasted.findings,
        *checks.check(pasted, now=now or datetime.now(UTC), clock_skew_seconds=clock_skew_seconds),
        *_unsafe_signature(pasted, candidates, theirs),
    ]
    if theirs is not None:
        findings.extend([finding("api-key-elsewhere")] if theirs != canonical else [])
        findings.extend(_compare(pasted, wrong, theirs))
    elif all(one["level"] is Level.NOTE or one["cause"] in _OF_THE_CLOCK for one in findings):
        findings.append(finding("well-formed"))
    findings.sort(key=lambda one: list(Level).index(one["level"]))
    return Diagnosis(pasted, theirs, findings, candidates)


def _compare(request: PastedRequest, wrong: list[WrongLine], theirs: str) -> Iterator[Finding]:
    """Yield what is wrong with the partner's canonical request."""
    ours = request.canonical_lines
    if theirs == "\n".join(ours):
        yield finding("canonical-right")
        return
    for cause, correct in layout.CORRECTIONS.items():
        corrected = correct(theirs, ours)
        if corrected != theirs:
            yield finding(cause)
        theirs = corrected
    lines, findings = layout.align(ours, _with_body_as_one(request, theirs.split("\n")))
    yield from findings
    path_cause = None
    for index, (our, line) in enumerate(zip(ours, lines, strict=True)):
        if line is not None and line != our:
            found = line_finding(request, wrong, index, line)
            if index != QUERY or found["cause"] != "query-not-signed" or path_cause not in _QUERY_IN_PATH:
                yield found
            path_cause = found["cause"] if index == PATH else path_cause


def _with_body_as_one(request: PastedRequest, lines: list[str]) -> list[str]:
    """Return the lines, with a body of several lines at their end as one."""
    body, end = request.body_text.replace("\r\n", "\n"), "\n".join(lines[BODY:])
    return [*lines[:BODY], end] if "\n" in body and end.strip() == body.strip() else lines


def likely_texts(request: PastedRequest, wrong: list[WrongLine]) -> Iterator[Candidate]:
    """Yield each text once: the right one, the likeliest form of each mistake, then the next form of each."""
    lines = request.canonical_lines
    turns = zip_longest(
        *([(one.cause, text) for form in one.forms for text in _with_line(lines, one.line, form)] for one in wrong)
    )
    of_lines = [candidate for turn in turns for candidate in turn if candidate is not None]
    right = "\n".join(lines)
    yield Candidate(CORRECT, "The correct canonical request", right)
    seen = {right}
    wrong_texts = [*layout.wrong_layouts(lines), *of_lines]
    for candidate in (
        *(Candidate(cause, finding(cause)["title"], text) for cause, text in wrong_texts),
        *_with_line_left_out(lines),
    ):
        if candidate.canonical_request not in seen:
            seen.add(candidate.canonical_request)
            yield candidate


def _with_line_left_out(lines: Sequence[str]) -> Iterator[Candidate]:
    """Yield the text without each line, also without the empty ones."""
    for index, part in enumerate(LINES):
        left = [*lines[:index], *lines[index + 1 :]]
        if lines[index]:
            title = f"Line {index + 1} is missing: {part.title}"
            yield Candidate("line-missing", title, "\n".join(left), index)
            yield Candidate("line-missing", title, "\n".join(filter(None, left)), index)


def _with_line(lines: Sequence[str], index: int, form: str) -> Iterator[str]:
    """Yield the text with this line: if it is a path with a query, the latter may be missing in its own line."""
    changed = [*lines[:index], form, *lines[index + 1 :]]
    if index == PATH and "?" in form:
        yield "\n".join([*changed[:QUERY], "", *changed[QUERY + 1 :]])
    yield "\n".join(changed)


def _unsafe_signature(request: PastedRequest, candidates: list[Candidate], theirs: str | None) -> Iterator[Finding]:
    """Yield how the signature was made, if it was made without the secret."""
    signature = checks.signature_in_hex(request.signature)
    own = [] if theirs is None else [Candidate("own", "the canonical request that you pasted", theirs)]
    for candidate in [*candidates, *own]:
        for cause, sign, function in _UNSAFE_SIGNATURES:
            if sign(candidate.canonical_request.encode(), request.api_key.encode()).hex() == signature:
                also = "" if candidate.cause == CORRECT else f" The signed text is wrong too: {candidate.title}."
                yield finding(cause, f"It is {function}.{also}")
                return


def _side_by_side(ours: Sequence[str], theirs: str | None) -> dict[str, Any]:
    """Return the six lines beside the partner's, the partner's further lines, and the first difference.

    Offsets count bytes of UTF-8 from 0; lines count from 1.
    """
    their_lines = [] if theirs is None else theirs.split("\n")
    lines = [
        {
            "name": part.name,
            "ours": our,
            "theirs": line,
            "differs": theirs is not None and our != line,
            "firstDifference": None if line is None else _first_difference(our, line),
        }
        for part, our, line in zip(LINES, ours, [*their_lines, *[None] * len(LINES)], strict=False)
    ]
    text, first = "\n".join(ours), None
    offset = None if theirs is None else _first_difference(text, theirs)
    if offset is not None:
        before = text.encode()[:offset]
        first = {"line": before.count(b"\n") + 1, "byte": offset - before.rfind(b"\n") - 1, "offset": offset}
    return {"lines": lines, "extraLines": their_lines[len(LINES) :], "firstDifference": first}


def _first_difference(one: str, other: str) -> int | None:
    """Return the first byte at which two texts differ, or at which the shorter one ends; None if they are equal."""
    return None if one == other else len(commonprefix([one.encode(), other.encode()]))  # noqa: RUF071 - of any text
