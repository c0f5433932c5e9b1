"""A command line split into words as a shell does it, nothing of it run: shlex knows no `$'…'`, which browsers write.

Every pattern is read once from left to right, so that the time grows with the text and no faster.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from partners.doctor.findings import NotUnderstoodError

_PIECE = re.compile(
    r"""
      (?P<continued>\\[ \t]*+(?:\r?\n|\Z))
    | \\(?P<escaped>.)
    | '(?P<single>[^']*+)'
    | \$'(?P<ansi_c>[^'\\]*+(?:\\.[^'\\]*+)*+)'
    | \$?"(?P<double>[^"\\]*+(?:\\.[^"\\]*+)*+)"
    | (?P<end>\d*+[<>]|[|;&])
    | (?P<space>\s++)
    | (?P<plain>[^\s\\'"$|;&<>]++|\$)
    """,
    re.VERBOSE | re.DOTALL,
)
_IN_DOUBLE_QUOTES = re.compile(r'\\(?:([$`"\\])|\r?\n)')
_VARIABLE = re.compile(r"(?<!\\)(?:\$[A-Za-z_{(]|`)")
_ANSI_C = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|(.))",
    re.DOTALL,
)
_ANSI_C_CONTROLS = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
# Half of a character, and no byte either.
_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")

# What the command prompt of Windows puts before a character to take it as it is, and at a line's end.
_CARET = re.compile(r"\^(\r?\n|.)", re.DOTALL)
_WINDOWS = re.compile(r"\^[ \t]*\r?\n|\^\"")


class CommandLine(NamedTuple):
    """A command's words. ended_by: what ended it before the text did, such as `|`; "" where nothing.

    has_variables: whether a shell would have put in something that the text does not show.
    """

    words: list[str]
    ended_by: str
    has_variables: bool


def split(text: str) -> CommandLine:
    """The words of the first command in a text; bytes that are not UTF-8 are kept as surrogate escapes.

    A line's end is a space: what was pasted from a page may have lost its backslashes.
    Raises NotUnderstoodError where a quotation mark is not closed.
    """
    if _WINDOWS.search(text):
        text = _CARET.sub(lambda match: " " if match[1].endswith("\n") else match[1], text)
    words: list[list[str]] = []
    within_word = has_variables = False
    for kind, piece in _pieces(text):
        if kind == "end":
            return CommandLine(_joined(words), piece, has_variables)
        if kind == "space":
            within_word = False
        elif kind != "continued":
            if not within_word:
                words.append([])
            within_word = True
            words[-1].append(_unquoted(kind, piece))
            has_variables = has_variables or (kind in {"plain", "double"} and bool(_VARIABLE.search(piece)))
    return CommandLine(_joined(words), "", has_variables)


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(text):
        match = _PIECE.match(text, position)
        if match is None:
            raise NotUnderstoodError("A quotation mark of the command is not closed.")
        kind = match.lastgroup or ""
        yield kind, match[kind]
        position = match.end()


def _joined(words: list[list[str]]) -> list[str]:
    return ["".join(word) for word in words]


def _unquoted(kind: str, piece: str) -> str:
    if kind == "double":
        return _IN_DOUBLE_QUOTES.sub(lambda match: match[1] or "", piece)
    if kind == "ansi_c":
        return _ansi_c(piece)
    return piece


def _ansi_c(text: str) -> str:
    if "\\" not in text:
        return text
    # Browsers write a character beyond the first 65,536 as two; `\x` gives bytes.
    units = _ANSI_C.sub(_character, text).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return _HALF.sub("\ufffd", units).encode(errors="surrogateescape").decode(errors="surrogateescape")


def _character(match: re.Match[str]) -> str:
    byte, short, long, octal, letter = match.groups()
    if letter is not None:
        return _ANSI_C_CONTROLS.get(letter, letter if letter in "\\'\"?" else f"\\{letter}")
    if byte or octal:
        code = int(byte, 16) if byte else int(octal, 8) % 256
        return chr(code) if code < 0x80 else chr(0xDC00 + code)  # noqa: PLR2004 - ASCII, or a surrogate escape
    code = int(short or long, 16)
    return chr(code) if code <= 0x10FFFF else "\ufffd"  # noqa: PLR2004 - the last character of Unicode
