"""Mistakes in the layout of the six lines: separators, order and number."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from partners.signing.causes import LINES, Finding, counted, finding

_Lines = Sequence[str]

_QUOTES = "\"'`"
_SEPARATORS = ("", " ", "|", ":", ",", ", ", ";", "&", "\t", "\n\n")
# Orders that people use, as indices of the right lines.
_ORDERS = ((3, 0, 1, 2, 4, 5), (0, 1, 2, 4, 3, 5), (0, 1, 3, 4, 2, 5), (0, 1, 2, 5, 3, 4), (3, 4, 0, 1, 2, 5))
# Further lines are not compared.
_MAX_LINES = 9


def _without_quotes(text: str, _: _Lines) -> str:
    is_quoted = len(text) > 1 and text[0] in _QUOTES and text.rstrip()[-1:] == text[0]
    return text.rstrip()[1:-1] if is_quoted else text


def _without_line_feed_at_end(text: str, ours: _Lines) -> str:
    stripped = text.rstrip("\n")
    # An empty last line may also be a missing digest.
    is_whole = stripped.endswith(ours[-1]) or stripped.count("\n") >= len(LINES) - 1
    return stripped if is_whole else text


# The causes in the order in which they are corrected; each function takes the text and the right lines.
CORRECTIONS: dict[str, Callable[[str, _Lines], str]] = {
    "byte-order-mark": lambda text, _: text.removeprefix("\ufeff"),
    "text-in-quotes": _without_quotes,
    "line-feeds-escaped": lambda text, _: text if "\n" in text else text.replace("\\r", "\r").replace("\\n", "\n"),
    "crlf": lambda text, _: text.replace("\r\n", "\n"),
    "carriage-return": lambda text, _: text.replace("\r", "\n"),
    "joined-otherwise": lambda text, ours: "\n".join(ours) if text in {s.join(ours) for s in _SEPARATORS} else text,
    "line-feed-at-start": lambda text, _: text.lstrip("\n"),
    "line-feed-at-end": _without_line_feed_at_end,
}


def wrong_layouts(lines: _Lines) -> Iterator[tuple[str, str]]:
    """Yield what the right lines become by each mistake, with its cause."""
    yield "line-feeds-escaped", "\\n".join(lines)
    yield "crlf", "\r\n".join(lines)
    yield "crlf", "\r\n".join(lines) + "\r\n"
    yield from (("joined-otherwise", separator.join(lines)) for separator in _SEPARATORS[:3])
    yield "line-feed-at-end", "\n".join(lines) + "\n"
    yield "empty-line-missing", "\n".join(filter(None, lines))
    for index, line in enumerate(lines):
        if not line:
            yield "empty-line-missing", "\n".join((*lines[:index], *lines[index + 1 :]))
    yield from (("wrong-line-order", "\n".join(lines[index] for index in order)) for order in _ORDERS)


def align(ours: _Lines, theirs: _Lines) -> tuple[Sequence[str | None], list[Finding]]:
    """Return the partner's line for each of the six, or None, and what is wrong with their number and order."""
    our_words, their_words = list(filter(None, ours)), list(filter(None, theirs))
    is_reordered = their_words != our_words or len(theirs) == len(ours)
    if sorted(their_words) == sorted(our_words) and is_reordered and list(theirs) != list(ours):
        missing = [finding("empty-line-missing")] if len(theirs) < len(ours) else []
        return ours, [finding("wrong-line-order"), *missing]
    if len(theirs) > len(LINES):
        kept = max(combinations(theirs[:_MAX_LINES], len(LINES)), key=lambda lines: _equal(ours, lines))
        extra = counted(len(theirs) - len(LINES), "line")
        return kept, [finding("too-many-lines", f"Yours has {extra} too many.")]

    def fit(places: tuple[int, ...]) -> tuple[int, int]:
        """Rate places for their lines: how many lines are right there, and how few empty lines are left out."""
        return _equal([ours[place] for place in places], theirs), -sum(not ours[place] for place in places)

    places = max(combinations(range(len(LINES)), len(theirs)), key=fit)
    by_place = dict(zip(places, theirs, strict=True))
    left_out = [index for index in range(len(LINES)) if index not in by_place]
    findings = [finding("line-missing" if ours[i] else "empty-line-missing", line=LINES[i]) for i in left_out]
    return [by_place.get(index) for index in range(len(LINES))], findings


def _equal(ours: _Lines, theirs: _Lines) -> int:
    return sum(our == line for our, line in zip(ours, theirs, strict=True))
