"""Search in the sections of the rendered pages. Each process builds the index once."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache
from html import escape, unescape
from typing import NamedTuple

from django.utils.html import strip_tags
from django.utils.safestring import SafeString, mark_safe

from portal import site

MAX_QUERY_LENGTH = 100
MAX_WORDS = 8
# A single letter is everywhere.
MIN_WORD_LENGTH = 2
MAX_RESULTS = 20
# A word in the title counts as much as this many in the text.
TITLE_WEIGHT = 10
EXCERPT_CHARACTERS = 180
CHANGELOG = "Changelog"
# Shorter words have too many neighbours.
MIN_CORRECTED_LENGTH = 4
# A ratio of difflib, at most 1: one letter of five may be wrong, missing or too much.
MIN_SIMILARITY = 0.75
# What people type for words of these pages.
SYNONYMS = {
    "sdk": ("client",),
    "library": ("client",),
    "typescript": ("node.js",),
    "javascript": ("node.js",),
    "nodejs": ("node.js",),
    "kyc": ("compliance",),
    "throttling": ("rate limit",),
    "quota": ("rate limit",),
    "hmac": ("signature",),
    "paging": ("pagination",),
    "callback": ("webhook",),
    "transfer": ("conversion",),
    "statement": ("document",),
}

# A row of a table may be a section too: its first cell is the title.
_SECTION = re.compile(r'<(section|tr)\b[^>]*\bid="([^"]+)"[^>]*>(.*?)</\1>', re.DOTALL)
_HEADING = re.compile(r"<(h[23]|th)\b.*?</\1>", re.DOTALL)
_CODE = re.compile(r"<pre\b.*?</pre>", re.DOTALL)
# Labels and pictures and, by class, code in several languages and the headers of every response.
_SKIPPED = re.compile(
    r'<(legend|label|figcaption|svg|thead)\b.*?</\1>|<(\w+) class="(?:anchor|panel|fields common)".*?</\2>', re.DOTALL
)
_BLOCK_TAG = re.compile(r"<(?!/?(?:a|b|code|em|i|span|strong)\b)")


class Entry(NamedTuple):
    """A section of a page. haystack: the searched text, in lower case."""

    page: str
    title: str
    href: str
    text: str
    haystack: str


def search(query: str) -> list[tuple[Entry, SafeString]]:
    """Return the sections with every word of the query, best first, each with an excerpt. A longer query is cut.

    In place of a word its synonyms count too, and of one that is nowhere, the words that are written nearly so.
    """
    typed = dict.fromkeys(query[:MAX_QUERY_LENGTH].lower().split())
    words = [_meant(word) for word in typed if len(word) >= MIN_WORD_LENGTH][:MAX_WORDS]
    if not words:
        return []
    matches = [entry for entry in index() if all(any(one in entry.haystack for one in word) for word in words)]
    # The changelog has a few sections, each with nearly every word.
    matches.sort(key=lambda entry: (entry.page != CHANGELOG, _weight(entry, words)), reverse=True)
    marked = [one for word in words for one in word]
    return [(entry, _excerpt(entry.text, marked)) for entry in matches[:MAX_RESULTS]]


def _meant(word: str) -> list[str]:
    """Return the word, and what else stands for it."""
    meant = [word, *SYNONYMS.get(word, ())]
    if len(word) >= MIN_CORRECTED_LENGTH and not any(one in _vocabulary()[1] for one in meant):
        near = [one for one in _vocabulary()[0] if abs(len(one) - len(word)) <= 1]
        meant += get_close_matches(word, near, cutoff=MIN_SIMILARITY)
    return meant


@lru_cache(maxsize=1)
def _vocabulary() -> tuple[frozenset[str], str]:
    """The words of all sections, and all of their text."""
    text = "\n".join(entry.haystack for entry in index())
    return frozenset(re.findall(r"[a-z][a-z-]{2,}", text)), text


def _weight(entry: Entry, words: list[list[str]]) -> int:
    title = entry.title.lower()
    return sum(
        max(TITLE_WEIGHT * (one in title) + min(entry.haystack.count(one), TITLE_WEIGHT - 1) for one in word)
        for word in words
    )


def _excerpt(text: str, words: list[str]) -> SafeString:
    """Return the text around the first occurrence of a word, with the words marked."""
    places = [place for word in words if (place := text.lower().find(word)) >= 0]
    start = max(min(places, default=0) - EXCERPT_CHARACTERS // 3, 0)
    start = text.find(" ", start) + 1 if start else 0
    cut = text[start : start + EXCERPT_CHARACTERS]
    if start + EXCERPT_CHARACTERS < len(text):
        cut = cut.rpartition(" ")[0] + " …"
    any_word = re.compile(f"({'|'.join(map(re.escape, words))})", re.IGNORECASE)
    pieces = any_word.split(("… " if start else "") + cut)
    # The words are the odd pieces. format_html would take ten times as long for a query of short words.
    marked = (f"<mark>{escape(piece)}</mark>" if place % 2 else escape(piece) for place, piece in enumerate(pieces))
    return mark_safe("".join(marked))  # noqa: S308 - escaped piece by piece


@lru_cache(maxsize=1)
def index() -> tuple[Entry, ...]:
    """Return every section of every page."""
    return tuple(entry for page in site.pages() for entry in _entries(page.title, page.path, page.render("")))


def _entries(page: str, path: str, html: str) -> Iterator[Entry]:
    for _tag, section, content in _SECTION.findall(html):
        visible = _SKIPPED.sub("", content)
        heading = _HEADING.search(visible)
        title = _text(heading[0]) if heading else ""
        # Code is searched, but not part of an excerpt.
        text = _text(_CODE.sub("", _HEADING.sub("", visible, count=1)))
        haystack = f"{title} {section} {text} {_text(' '.join(_CODE.findall(visible)))}".lower()
        yield Entry(page, title, f"{path}#{section}", text, haystack)


def _text(html: str) -> str:
    return " ".join(unescape(strip_tags(_BLOCK_TAG.sub(" <", html))).split())
