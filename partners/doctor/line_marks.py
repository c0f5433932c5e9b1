"""Mistakes that any line may have: what stands around the right text."""

import re
from collections.abc import Callable
from typing import NamedTuple

from partners.doctor.findings import ERROR, Cause

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060\ufeff\x00-\x08\x0b-\x1f\x7f]")
_SPACES = re.compile("[\u00a0\u2007\u202f\u3000]")
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9 _\-]{0,40}[:=]\s*")


class Mark(NamedTuple):
    """A cause, and whether a line is the right one but for it: ours, theirs."""

    cause: Cause
    explains: Callable[[str, str], bool]


def _spaces(ours: str, theirs: str) -> bool:
    return theirs.strip() == ours


def _quotes(ours: str, theirs: str) -> bool:
    return len(theirs) > 1 and theirs[0] == theirs[-1] and theirs[0] in "\"'`" and theirs[1:-1] == ours


def _invisible(ours: str, theirs: str) -> bool:
    return _INVISIBLE.sub("", _SPACES.sub(" ", theirs)).strip() == ours


def _label(ours: str, theirs: str) -> bool:
    match = _LABEL.match(theirs)
    return match is not None and theirs[match.end() :] == ours


MARKS = (
    Mark(
        Cause(
            "spaces-around-line",
            ERROR,
            "Spaces stand around the line",
            "The line is right but for spaces or tabs before or after it.",
            "Take them away before you sign; headers arrive without them.",
        ),
        _spaces,
    ),
    Mark(
        Cause(
            "line-in-quotes",
            ERROR,
            "The line is in quotation marks",
            "The line is right but for the quotation marks around it.",
            "Sign the text, not its JSON.",
        ),
        _quotes,
    ),
    Mark(
        Cause(
            "line-with-label",
            ERROR,
            "A name stands before the line's text",
            "Each line holds a value alone, without the name of the header or of the line.",
            "Leave the name and its colon out.",
        ),
        _label,
    ),
    Mark(
        Cause(
            "invisible-character",
            ERROR,
            "The line holds a character that cannot be seen",
            "The line is right but for a control character, a space of another kind or one without width.",
            "Look at the bytes of the value where it comes from, often a copied one.",
        ),
        _invisible,
    ),
)
