"""Which of somebody's lines is meant for which of the six."""

import re
from collections.abc import Sequence
from itertools import combinations, pairwise, permutations
from typing import NamedTuple

from partners.doctor import layout
from partners.doctor.findings import LINES, Finding, counted

_WORDS = ("the method", "the path", "the query", "the timestamp", "Idempotency-Key", "the SHA-256 of the body")

# What each line looks like, whatever is wrong with it.
_SHAPES = (
    re.compile(r"\s*[A-Za-z]{3,7}\s*"),
    re.compile(r"\s*(?:/|https?:|v1/).*", re.DOTALL),
    re.compile(r"\??[^/{\s]*=.*", re.DOTALL),
    re.compile(r"\d{4}-\d\d-\d\d.*|\d{10,19}", re.DOTALL),
    re.compile(r"[{\"]?[0-9A-Fa-f]{8}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{12}[}\"]?"),
    re.compile(r"[0-9A-Fa-f]{32,128}|[A-Za-z0-9+/_\-]{43}=?|[A-Za-z0-9+/_\-]{86}(?:==)?|[\[{].*", re.DOTALL),
)
# Lines that are empty say least about where they belong.
_SAME, _ALIKE, _BOTH_EMPTY = 8, 2, 1

# Beyond these, lines are left over without a look at which.
_MOST_LINES = 9


class Aligned(NamedTuple):
    """Somebody's lines, each at the place of the one it is meant for; None where there is none."""

    lines: Sequence[str | None]
    findings: Sequence[Finding]


def align(ours: Sequence[str], theirs: Sequence[str]) -> Aligned:
    """Puts each of their lines beside the one of ours that it is most like, and tells what that took.

    ours: the six. theirs: any number. What is alike in two ways stays where it stands.
    """
    if len(theirs) > len(LINES):
        return _without_extra(ours, theirs)
    likeness = [[_likeness(index, line, their) for index, line in enumerate(ours)] for their in theirs]
    places = max(
        permutations(range(len(LINES)), len(theirs)),
        key=lambda places: (_sum(likeness, places), _in_order(places)),
    )
    placed: list[str | None] = [None] * len(LINES)
    for place, line in zip(places, theirs, strict=True):
        placed[place] = line
    return Aligned(placed, [*_order(places), *_missing(ours, placed)])


def _likeness(index: int, ours: str, theirs: str) -> int:
    if ours == theirs:
        return _SAME if ours else _BOTH_EMPTY
    return _ALIKE if _SHAPES[index].fullmatch(theirs) else 0


def _sum(likeness: Sequence[Sequence[int]], places: Sequence[int]) -> int:
    return sum(row[place] for row, place in zip(likeness, places, strict=True))


def _in_order(places: Sequence[int]) -> int:
    return sum(one < other for one, other in pairwise(places)) + (places == tuple(sorted(places)))


def _without_extra(ours: Sequence[str], theirs: Sequence[str]) -> Aligned:
    kept = max(
        combinations(theirs[:_MOST_LINES], len(LINES)),
        key=lambda lines: sum(_likeness(index, ours[index], line) for index, line in enumerate(lines)),
    )
    extra = layout.TOO_MANY_LINES.found(lines=counted(len(theirs) - len(LINES), "line"))
    return Aligned(kept, [extra])


def _order(places: Sequence[int]) -> list[Finding]:
    if list(places) == sorted(places):
        return []
    return [layout.WRONG_ORDER.found(order=", ".join(_WORDS[place] for place in places))]


def _missing(ours: Sequence[str], placed: Sequence[str | None]) -> list[Finding]:
    return [
        (layout.LINE_MISSING if ours[index] else layout.EMPTY_LINE_MISSING).found(
            line=index, number=index + 1, what=_WORDS[index]
        )
        for index, line in enumerate(placed)
        if line is None
    ]
