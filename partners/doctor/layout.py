"""What can be wrong with how the six lines are put together: what joins them, their order and number."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from partners.doctor.causes import LINES, WARNING, Cause, Finding, counted

Lines = Sequence[str]

_QUOTES = "\"'`"
_SEPARATORS = ("", " ", "|", ":", ",", ", ", ";", "&", "\t", "\n\n")
# Orders that people use, as indices of the right lines.
_ORDERS = ((3, 0, 1, 2, 4, 5), (0, 1, 2, 4, 3, 5), (0, 1, 3, 4, 2, 5), (0, 1, 2, 5, 3, 4), (3, 4, 0, 1, 2, 5))
# Of more lines, only so many are looked at.
_MOST_LINES = 9


@dataclass(frozen=True)
class Joint(Cause):
    """A wrong way to join the right lines. undo: returns a text without it. forms: what the right lines become."""

    undo: Callable[[str, Lines], str] = lambda text, _: text
    forms: Callable[[Lines], Iterable[str]] = lambda _: ()


def _without_quotes(text: str, _: Lines) -> str:
    is_quoted = len(text) > 1 and text[0] in _QUOTES and text.rstrip()[-1:] == text[0]
    return text.rstrip()[1:-1] if is_quoted else text


def _without_line_feed_at_end(text: str, ours: Lines) -> str:
    stripped = text.rstrip("\n")
    # An empty last line may also be a missing digest.
    is_whole = stripped.endswith(ours[-1]) or stripped.count("\n") >= len(LINES) - 1
    return stripped if is_whole else text


def _without_empty(lines: Lines) -> list[str]:
    """Return the text without all of its empty lines, and without each one."""
    single = ["\n".join((*lines[:index], *lines[index + 1 :])) for index, line in enumerate(lines) if not line]
    return ["\n".join(filter(None, lines)), *single]


# fmt: off
# In the order in which they are undone.
JOINTS = (
    Joint("byte-order-mark", "The text begins with a byte order mark", "Encode as UTF-8 without a mark.",
          undo=lambda text, _: text.removeprefix("\ufeff")),
    Joint("text-in-quotes", "The text is in quotation marks", "Paste the text without them, and sign it without them.",
          "They are taken for those of your log; if your code signs them, that is the mistake.", WARNING,
          undo=_without_quotes),
    Joint("line-feeds-escaped", "Line feeds are written as a backslash and an n",
          'Use the line feed itself, "\\n" within quotation marks that know escapes.',
          undo=lambda text, _: text if "\n" in text else text.replace("\\r", "\r").replace("\\n", "\n"),
          forms=lambda lines: ["\\n".join(lines)]),
    Joint("crlf", "Lines end with CRLF", "Join with \\n, not with your system's line end.",
          undo=lambda text, _: text.replace("\r\n", "\n"),
          forms=lambda lines: ["\r\n".join(lines), "\r\n".join(lines) + "\r\n"]),
    Joint("carriage-return", "There is a carriage return instead of a line feed",
          undo=lambda text, _: text.replace("\r", "\n")),
    Joint("joined-otherwise", "The lines are joined by something else than a line feed",
          undo=lambda text, ours: "\n".join(ours) if text in {one.join(ours) for one in _SEPARATORS} else text,
          forms=lambda lines: [separator.join(lines) for separator in _SEPARATORS[:3]]),
    Joint("line-feed-at-start", "The text begins with an empty line", "Begin with the method.",
          undo=lambda text, _: text.lstrip("\n")),
    Joint("line-feed-at-end", "A line feed follows the last line",
          "Join the lines instead of ending each; check editors, echo and heredocs, which add one.",
          undo=_without_line_feed_at_end, forms=lambda lines: ["\n".join(lines) + "\n"]),
    Joint("empty-line-missing", "An empty line is missing", forms=_without_empty),
    Joint("wrong-line-order", "The lines are in another order",
          "The order is: method, path, query, timestamp, Idempotency-Key, SHA-256 of the body.",
          forms=lambda lines: ["\n".join(lines[index] for index in order) for order in _ORDERS]),
)
EMPTY_LINE_MISSING, WRONG_ORDER = JOINTS[-2:]
LINE_MISSING = Cause("line-missing", "A line is missing", "Write all six lines always.")
TOO_MANY_LINES = Cause("too-many-lines", "There are more than six lines", "Sign the six lines and nothing else.",
                       "Yours has {lines} too many.")
# fmt: on
CAUSES = (*JOINTS, LINE_MISSING, TOO_MANY_LINES)


def align(ours: Lines, theirs: Lines) -> tuple[Sequence[str | None], list[Finding]]:
    """Return each of their lines beside the one of ours that it is meant for, and what is wrong with their number.

    ours: the six. theirs: any number. A line is None where none of theirs belongs there.
    """
    words, given = list(filter(None, ours)), list(filter(None, theirs))
    if sorted(given) == sorted(words) and (given != words or len(theirs) == len(ours)) and list(theirs) != list(ours):
        missing = [EMPTY_LINE_MISSING.found()] if len(theirs) < len(ours) else []
        return ours, [WRONG_ORDER.found(), *missing]
    if len(theirs) > len(LINES):
        kept = max(combinations(theirs[:_MOST_LINES], len(LINES)), key=lambda lines: _equal(ours, lines))
        extra = counted(len(theirs) - len(LINES), "line")
        return kept, [TOO_MANY_LINES.found(facts={"lines": extra})]

    def fit(places: tuple[int, ...]) -> tuple[int, int]:
        """How many lines are right at these places, and how many that are empty are left out."""
        return _equal([ours[place] for place in places], theirs), -sum(not ours[place] for place in places)

    places = max(combinations(range(len(LINES)), len(theirs)), key=fit)
    by_place = dict(zip(places, theirs, strict=True))
    left_out = [index for index in range(len(LINES)) if index not in by_place]
    findings = [(LINE_MISSING if ours[index] else EMPTY_LINE_MISSING).found(line=index) for index in left_out]
    return [by_place.get(index) for index in range(len(LINES))], findings


def _equal(ours: Lines, theirs: Lines) -> int:
    return sum(our == line for our, line in zip(ours, theirs, strict=True))
