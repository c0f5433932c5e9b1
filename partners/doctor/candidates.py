"""Canonical requests that a mistaken client may have signed: which of them a signature fits tells the mistake."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import NamedTuple

from partners.doctor import layout
from partners.doctor.findings import PATH, QUERY, Cause
from partners.doctor.mistakes import Mistaken
from partners.doctor.sent import Sent

MOST = 60
CORRECT, CORRECT_TITLE = "correct", "As the contract has it"


class Candidate(NamedTuple):
    """A text that may have been signed, and the mistake that makes it."""

    cause: str
    title: str
    canonical_request: str

    def as_json(self) -> dict[str, str]:
        """For the page and `--json`."""
        return {"cause": self.cause, "title": self.title, "canonicalRequest": self.canonical_request}


def candidates(sent: Sent, known: Sequence[Mistaken]) -> list[Candidate]:
    """At most MOST, each text once, the right one first; none where nothing can sign the request.

    known: diagnosis.shown.
    """
    if not sent.is_utf8:
        return []
    lines = sent.canonical_lines
    right = Candidate(CORRECT, CORRECT_TITLE, "\n".join(lines))
    once: dict[str, Candidate] = {}
    for candidate in chain([right], _of_layout(lines), _of_lines(lines, known)):
        once.setdefault(candidate.canonical_request, candidate)
    return list(islice(once.values(), MOST))


def _of_layout(lines: Sequence[str]) -> Iterator[Candidate]:
    for joint in layout.JOINTS:
        yield from (_candidate(joint.cause, text) for text in joint.written(lines))
    yield from (_candidate(layout.EMPTY_LINE_MISSING, text) for text in layout.without_empty(lines))
    yield from (_candidate(layout.WRONG_ORDER, text) for text in layout.reordered(lines))


def _of_lines(lines: Sequence[str], known: Sequence[Mistaken]) -> Iterator[Candidate]:
    """Of each mistake its likeliest form, then of each the next, so that every mistake has its turn."""
    turns = zip_longest(*([_with_line(lines, shape, form) for form in shape.forms] for shape in known))
    return (candidate for turn in turns for candidate in turn if candidate is not None)


def _with_line(lines: Sequence[str], shape: Mistaken, form: str) -> Candidate:
    wrong = list(lines)
    wrong[shape.mistake.cause.line or 0] = form
    # Who appends the query to the path has nothing left for its own line.
    if shape.mistake.cause.line == PATH and "?" in form:
        wrong[QUERY] = ""
    return _candidate(shape.mistake.cause, "\n".join(wrong))


def _candidate(cause: Cause, text: str) -> Candidate:
    return Candidate(cause.code, cause.title, text)
