"""Mistakes in putting the six lines together: order, what joins them, lines that are missing."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from partners.doctor.findings import ERROR, LINES, WARNING, Cause

Lines = Sequence[str]

_QUOTES = "\"'`"
_SEPARATORS = ("", " ", "|", ":", ",", ", ", ";", "&", "\t", "\n\n")

# Orders that are met, as indices of the right lines.
_ORDERS = (
    (3, 0, 1, 2, 4, 5),
    (0, 1, 2, 4, 3, 5),
    (0, 1, 3, 4, 2, 5),
    (0, 1, 2, 5, 3, 4),
    (3, 4, 0, 1, 2, 5),
    (0, 3, 1, 2, 4, 5),
)


@dataclass(frozen=True, slots=True)
class Joint:
    """One way to join the right lines wrongly.

    written: what the text then is. mended: a text with this undone, the same text where this is not in it.
    """

    cause: Cause
    written: Callable[[Lines], Iterable[str]]
    mended: Callable[[str, Lines], str]


def _without_bom(text: str, _: Lines) -> str:
    return text.removeprefix("\ufeff")


def _without_quotes(text: str, _: Lines) -> str:
    quoted = len(text) > 1 and text[0] in _QUOTES and text.rstrip()[-1:] == text[0]
    return text.rstrip()[1:-1] if quoted else text


def _without_escapes(text: str, _: Lines) -> str:
    return text if "\n" in text else text.replace("\\r", "\r").replace("\\n", "\n")


def _with_lf(text: str, _: Lines) -> str:
    return text.replace("\r\n", "\n")


def _with_lf_for_cr(text: str, _: Lines) -> str:
    return text.replace("\r", "\n")


def _with_lines(text: str, ours: Lines) -> str:
    """The right text where another separator than a line feed is all that is wrong with it."""
    right = "\n".join(ours)
    return right if any(text == separator.join(ours) for separator in _SEPARATORS) else text


def _without_line_feed_at_start(text: str, _: Lines) -> str:
    return text.lstrip("\n")


def _without_line_feed_at_end(text: str, ours: Lines) -> str:
    stripped = text.rstrip("\n")
    # An empty last line may also be where the digest is missing.
    ends_as_it_should = stripped.endswith(ours[-1]) or stripped.count("\n") >= len(LINES) - 1
    return stripped if ends_as_it_should else text


def _never(_: Lines) -> Iterator[str]:
    yield from ()


def _crlf(lines: Lines) -> Iterator[str]:
    yield "\r\n".join(lines)
    yield "\r\n".join(lines) + "\r\n"


def _line_feed_at_end(lines: Lines) -> Iterator[str]:
    yield "\n".join(lines) + "\n"


def _escaped(lines: Lines) -> Iterator[str]:
    yield "\\n".join(lines)


def _joined_otherwise(lines: Lines) -> Iterator[str]:
    for separator in _SEPARATORS[:3]:
        yield separator.join(lines)


# In the order in which they are undone.
JOINTS = (
    Joint(
        Cause(
            "byte-order-mark",
            ERROR,
            "The text begins with a byte order mark",
            "Its three bytes, EF BB BF, are signed with the text.",
            "Encode as UTF-8 without a mark.",
        ),
        _never,
        _without_bom,
    ),
    Joint(
        Cause(
            "text-in-quotes",
            WARNING,
            "The text is in quotation marks",
            "They are read as your log's; if your code signs them, that is the mistake.",
            "Paste the text without them, and sign it without them.",
        ),
        _never,
        _without_quotes,
    ),
    Joint(
        Cause(
            "line-feeds-escaped",
            ERROR,
            "Line feeds are written as a backslash and an n",
            "What joins the lines is one byte, 0A; here it is two characters, unless only your log shows it so.",
            'Use the line feed itself, "\\n" within quotation marks that know escapes.',
        ),
        _escaped,
        _without_escapes,
    ),
    Joint(
        Cause(
            "crlf",
            ERROR,
            "Lines end with CRLF",
            "What joins the lines is a line feed alone, without a carriage return before it.",
            "Join with \\n, not with your system's line end; mind files saved on Windows.",
        ),
        _crlf,
        _with_lf,
    ),
    Joint(
        Cause(
            "carriage-return",
            ERROR,
            "A carriage return stands where a line feed should",
            "What joins the lines is the byte 0A; here is 0D.",
            "Join with \\n.",
        ),
        _never,
        _with_lf_for_cr,
    ),
    Joint(
        Cause(
            "joined-otherwise",
            ERROR,
            "The lines are joined by something else",
            "All six lines are right, but they are not joined by one line feed each.",
            "Join with \\n.",
        ),
        _joined_otherwise,
        _with_lines,
    ),
    Joint(
        Cause(
            "line-feed-at-start",
            ERROR,
            "The text begins with an empty line",
            "The first line is the method; nothing comes before it.",
            "Begin with the method.",
        ),
        _never,
        _without_line_feed_at_start,
    ),
    Joint(
        Cause(
            "line-feed-at-end",
            ERROR,
            "A line feed follows the last line",
            "Line feeds stand between the lines; none comes after the sixth.",
            "Join the lines instead of ending each; mind editors, echo and heredocs, which add one.",
        ),
        _line_feed_at_end,
        _without_line_feed_at_end,
    ),
)

EMPTY_LINE_MISSING = Cause(
    "empty-line-missing",
    ERROR,
    "An empty line is missing",
    "Line {number}, {what}, is empty in this request, but it is there all the same.",
    "Write all six lines always, also those with nothing in them.",
)
LINE_MISSING = Cause(
    "line-missing",
    ERROR,
    "A line is missing",
    "Line {number}, {what}, is not there.",
    "Write all six lines always.",
)
WRONG_ORDER = Cause(
    "wrong-line-order",
    ERROR,
    "The lines are in another order",
    "Yours are {order}.",
    "The order is: method, path, query, timestamp, Idempotency-Key, SHA-256 of the body.",
)
TOO_MANY_LINES = Cause(
    "too-many-lines",
    ERROR,
    "There are more than six lines",
    "Yours has {lines} too many.",
    "Sign the six lines and nothing else.",
)
CAUSES = (EMPTY_LINE_MISSING, LINE_MISSING, WRONG_ORDER, TOO_MANY_LINES)


def without_empty(lines: Lines) -> Iterator[str]:
    """The text where empty lines are left out: all of them, or one."""
    yield "\n".join(filter(None, lines))
    for index, line in enumerate(lines):
        if not line:
            yield "\n".join((*lines[:index], *lines[index + 1 :]))


def reordered(lines: Lines) -> Iterator[str]:
    """The text with its lines in other orders."""
    for order in _ORDERS:
        yield "\n".join(lines[index] for index in order)
