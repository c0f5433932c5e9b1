"""What the difference between two canonical requests tells: the findings about somebody's own."""

from collections.abc import Iterable, Iterator, Sequence

from partners.doctor import alignment, layout, mistakes_body, mistakes_query, mistakes_stamp, mistakes_target
from partners.doctor.findings import BODY, NOTE, Cause, Finding
from partners.doctor.line_marks import MARKS
from partners.doctor.mistakes import Mistaken, mistaken
from partners.doctor.sent import Sent

MISTAKES = (
    *mistakes_target.MISTAKES,
    *mistakes_query.MISTAKES,
    *mistakes_stamp.MISTAKES,
    *mistakes_body.MISTAKES,
)
# By the index of the line.
_DIFFERENT = (
    *mistakes_target.DIFFERENT,
    *mistakes_query.DIFFERENT,
    *mistakes_stamp.DIFFERENT,
    *mistakes_body.DIFFERENT,
)

RIGHT = Cause(
    "canonical-right",
    NOTE,
    "Your canonical request is right",
    "It is the same, byte for byte; if the signature is refused, the fault is in what is made of it, or in the key.",
    "Check that the secret belongs to this very key, is used as issued with psi_secret_ in front and not decoded, that"
    " the HMAC takes the secret as its key and the text as its message, both in UTF-8, and that the hex of its bytes is"
    " what you send.",
)
CAUSES = (*_DIFFERENT, RIGHT)

# A second finding that says no more than the first: the query is missing in line 3 where it stands in line 2.
_ECHOES = {
    "query-in-path": "query-not-signed",
    "url-instead-of-path": "query-not-signed",
    "path-with-prefix": "query-not-signed",
}


def shown(sent: Sent) -> list[Mistaken]:
    """Every known mistake as it shows in this request."""
    return list(mistaken(MISTAKES, sent))


def compare(sent: Sent, known: Iterable[Mistaken], theirs: str) -> Iterator[Finding]:
    """What is wrong with the canonical request that somebody built. known: see `shown`."""
    ours = sent.canonical_lines
    if theirs == "\n".join(ours):
        yield RIGHT.found()
        return
    for joint in layout.JOINTS:
        mended = joint.mended(theirs, ours)
        if mended != theirs:
            yield joint.cause.found()
        theirs = mended
    aligned = alignment.align(ours, _with_body_in_one(sent, theirs.split("\n")))
    yield from aligned.findings
    yield from _without_echoes(_lines(sent, list(known), aligned.lines))


def _with_body_in_one(sent: Sent, lines: Sequence[str]) -> Sequence[str]:
    """The lines, with a body of several at the end of them counted as one."""
    body = (sent.body_text or "").replace("\r\n", "\n")
    end = "\n".join(lines[BODY:])
    return [*lines[:BODY], end] if "\n" in body and end.strip() == body.strip() else lines


def _lines(sent: Sent, known: Sequence[Mistaken], theirs: Sequence[str | None]) -> Iterator[Finding]:
    for index, (ours, line) in enumerate(zip(sent.canonical_lines, theirs, strict=True)):
        if line is not None and line != ours:
            yield _of_line(sent, [shape for shape in known if shape.mistake.cause.line == index], index, line)


def _of_line(sent: Sent, known: Iterable[Mistaken], index: int, theirs: str) -> Finding:
    ours = sent.canonical_lines[index]
    for mark in MARKS:
        if mark.explains(ours, theirs):
            return mark.cause.found(line=index)
    findings = (shape.explains(sent, theirs) for shape in known)
    return next((finding for finding in findings if finding), None) or _DIFFERENT[index].found()


def _without_echoes(findings: Iterable[Finding]) -> Iterator[Finding]:
    said: set[str | None] = set()
    for finding in findings:
        if finding.cause not in said:
            yield finding
        said.add(_ECHOES.get(finding.cause))
