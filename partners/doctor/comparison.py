"""Two canonical requests side by side, byte by byte."""

from collections.abc import Sequence
from typing import Any

from partners.doctor.findings import LINES


def side_by_side(ours: Sequence[str], theirs: str | None) -> dict[str, Any]:
    """The six lines beside those that somebody else built, what is left over of these, and the first difference.

    Offsets count bytes of UTF-8 from 0; lines count from 1.
    """
    given = [] if theirs is None else theirs.split("\n")
    return {
        "lines": [
            _line(name, line, given[index] if index < len(given) else None, compared=theirs is not None)
            for index, (name, line) in enumerate(zip(LINES, ours, strict=True))
        ],
        "extraLines": given[len(LINES) :],
        "firstDifference": None if theirs is None else _first_difference(ours, theirs),
    }


def _line(name: str, ours: str, theirs: str | None, *, compared: bool) -> dict[str, Any]:
    return {
        "name": name,
        "ours": ours,
        "theirs": theirs,
        "differs": compared and ours != theirs,
        "firstDifference": None if theirs is None else _offset(ours.encode(), theirs.encode()),
    }


def _first_difference(ours: Sequence[str], theirs: str) -> dict[str, int] | None:
    text = "\n".join(ours).encode()
    offset = _offset(text, theirs.encode())
    if offset is None:
        return None
    before = text[:offset]
    return {"line": before.count(b"\n") + 1, "byte": offset - before.rfind(b"\n") - 1, "offset": offset}


def _offset(one: bytes, other: bytes) -> int | None:
    """Where two texts first differ, or where the shorter one ends; None where they are the same."""
    if one == other:
        return None
    shorter = min(len(one), len(other))
    return next((index for index in range(shorter) if one[index] != other[index]), shorter)
