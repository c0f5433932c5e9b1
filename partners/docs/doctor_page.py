"""The signature doctor's page: a diagnosis, with the first byte that differs marked in each line."""

import json
import unicodedata
from typing import Any, NamedTuple
from urllib.parse import unquote

from partners.authentication import keys, signing
from partners.docs import example_files
from partners.docs.doctor_form import LARGEST_BYTES, Question

LINE_TITLES = {
    "method": "Method",
    "path": "Path",
    "query": "Query",
    "timestamp": "Timestamp",
    "idempotencyKey": "Idempotency key",
    "bodySha256": "Digest of the body",
}
LEVEL_TITLES = {"error": ("✕", "Error"), "warning": ("▲", "Warning"), "note": ("•", "Note")}
# Of the form of a key, and nobody's.
EXAMPLE_KEY = keys.KEY_PREFIX + ("example-" * 6)[:43]
# Characters that nobody sees, as they are shown where they make the difference.
_VISIBLE = {" ": "␠", "\t": "␉", "\r": "␍", "\0": "␀"}


class Side(NamedTuple):
    """One of two texts that differ: up to the difference, the character there ("" at the end), the rest."""

    before: str
    mark: str = ""
    after: str = ""
    marked: bool = False

    @property
    def character(self) -> str:
        """The character in words, for people who cannot see the mark."""
        if not self.mark or self.mark.startswith("U+"):
            return self.mark or "the end of the line"
        # Many a letter looks like another one.
        is_plain = self.mark.isascii() or self.mark in _VISIBLE.values()
        return f"“{self.mark}”" + ("" if is_plain else f" ({_code_point(self.mark)})")


def context(
    *, question: Question | None = None, examination: dict[str, Any] | None = None, message: str = ""
) -> dict[str, Any]:
    """Return what the page shows. question: what is put back into the form. message: why there is no diagnosis."""
    return {
        "here": "doctor",
        "question": question,
        "message": message,
        "result": examination and result(examination, question.canonical if question else None),
        "example": example(),
        "secret_prefix": keys.SECRET_PREFIX,
        "largest_kib": LARGEST_BYTES // 1024,
    }


def result(examination: dict[str, Any], canonical: str | None) -> dict[str, Any]:
    """Return a diagnosis for the template. canonical: what was pasted, which may be what was signed as well."""
    candidates = list(examination["candidates"])
    if canonical is not None and canonical not in {one["canonicalRequest"] for one in candidates}:
        candidates.append(
            {"cause": "pasted", "title": "Your canonical request, as pasted", "canonicalRequest": canonical}
        )
    first = examination["firstDifference"]
    return examination | {
        "compared": canonical is not None,
        "lines": [_compared(number, line) for number, line in enumerate(examination["lines"], start=1)],
        "findings": [_finding(finding) for finding in examination["findings"]],
        # As JSON: HTML would make line feeds of the carriage returns in them.
        "candidates": [one | {"json": json.dumps(one["canonicalRequest"])} for one in candidates],
        "where": first and {"line": first["line"], "byte": first["byte"] + 1},
    }


def example() -> dict[str, str]:
    """Return a request whose sender signed a decoded query, made of the published vectors, to try the page with."""
    published = json.loads(example_files.VECTORS.read_bytes())
    vector = next(one for one in published["vectors"] if unquote(one["query"]) != one["query"])
    lines = vector["canonicalRequest"].split("\n")
    lines[2] = unquote(lines[2])
    canonical = "\n".join(lines)
    command = (
        f"curl 'https://partners.example{vector['path']}?{vector['query']}' \\",
        f"  -H 'X-Api-Key: {EXAMPLE_KEY}' \\",
        f"  -H 'X-Request-Timestamp: {vector['timestamp']}' \\",
        f"  -H 'X-Request-Signature: {signing.sign(published['secret'], canonical)}'",
    )
    return {"request": "\n".join(command), "canonical": canonical, "secret": published["secret"]}


def _finding(finding: dict[str, Any]) -> dict[str, Any]:
    icon, level = LEVEL_TITLES[finding["level"]]
    return finding | {"icon": icon, "levelTitle": level, "lineTitle": LINE_TITLES.get(finding["line"], "")}


def _compared(number: int, line: dict[str, Any]) -> dict[str, Any]:
    """A line of both texts. byte: the first that differs, counted from 1."""
    offset, theirs = line["firstDifference"], line["theirs"]
    return line | {
        "number": number,
        "title": LINE_TITLES[line["name"]],
        "ours": _side(line["ours"], offset),
        "theirs": None if theirs is None else _side(theirs, offset),
        "byte": None if offset is None else offset + 1,
    }


def _side(text: str, offset: int | None) -> Side:
    """offset: of the first byte that differs, in UTF-8; the character that holds it is marked."""
    if offset is None:
        return Side(text)
    before = text.encode()[:offset].decode(errors="ignore")
    rest = text[len(before) :]
    return Side(before, _visible(rest[:1]), rest[1:], marked=True)


def _visible(character: str) -> str:
    if character in _VISIBLE:
        return _VISIBLE[character]
    is_seen = not character or unicodedata.category(character)[0] not in "CZ"
    return character if is_seen else _code_point(character)


def _code_point(character: str) -> str:
    return f"U+{ord(character):04X}"
