"""Search of the docs, in an index of the sections of the rendered pages. A process builds the index once."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from html.parser import HTMLParser

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from partners.docs import changelog, doctor_page, guide
from partners.docs.reference import operations

LONGEST_QUERY = 100
MOST_WORDS = 8
# A single letter is everywhere.
SHORTEST_WORD = 2
MOST_RESULTS = 20
# A word in the title weighs as much as this many in the text.
TITLE_WEIGHT = 10
EXCERPT_CHARACTERS = 180

# Left out of the index: labels and pictures, and, by class, code in several languages and the headers of every answer.
_SKIPPED_TAGS = {"legend", "label", "figcaption", "svg", "thead"}
_SKIPPED_CLASSES = {"anchor", "panel", "common"}
_HEADINGS = {"h2", "h3"}
_INLINE = {"a", "b", "code", "em", "i", "span", "strong"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A section of a page. haystack: what is searched, in lower case."""

    page: str
    title: str
    href: str
    text: str
    haystack: str


@dataclass(frozen=True, slots=True)
class Result:
    """A section that was found. excerpt: some of its text, with the words marked."""

    page: str
    title: str
    href: str
    excerpt: SafeString


def search(query: str) -> list[Result]:
    """Return the sections that hold every word of the query, best first. A longer query is cut."""
    typed = dict.fromkeys(query[:LONGEST_QUERY].lower().split())
    words = [word for word in typed if len(word) >= SHORTEST_WORD][:MOST_WORDS]
    if not words:
        return []
    found = [entry for entry in index() if all(word in entry.haystack for word in words)]
    found.sort(key=lambda entry: _weight(entry, words), reverse=True)
    return [Result(one.page, one.title, one.href, _excerpt(one.text, words)) for one in found[:MOST_RESULTS]]


def _weight(entry: Entry, words: list[str]) -> int:
    title = entry.title.lower()
    return sum(TITLE_WEIGHT * (word in title) + min(entry.haystack.count(word), TITLE_WEIGHT - 1) for word in words)


def _excerpt(text: str, words: list[str]) -> SafeString:
    """The text around the first word that occurs in it."""
    places = [place for word in words if (place := text.lower().find(word)) >= 0]
    start = max(min(places, default=0) - EXCERPT_CHARACTERS // 3, 0)
    start = text.find(" ", start) + 1 if start else 0
    cut = text[start : start + EXCERPT_CHARACTERS]
    if start + EXCERPT_CHARACTERS < len(text):
        cut = cut.rpartition(" ")[0] + " …"
    any_word = re.compile(f"({'|'.join(map(re.escape, words))})", re.IGNORECASE)
    pieces = any_word.split(("… " if start else "") + cut)
    # The words are at the odd places. Joined by hand: with format_html a query of short words took ten times as long.
    marked = (f"<mark>{escape(piece)}</mark>" if place % 2 else escape(piece) for place, piece in enumerate(pieces))
    return mark_safe("".join(marked))  # noqa: S308 - escaped piece by piece


@lru_cache(maxsize=1)
def index() -> tuple[Entry, ...]:
    """Every section of every page."""
    pages: dict[str, tuple[str, Callable[[], str]]] = {
        "Guide": ("docs", lambda: guide.page("")),
        "Reference": ("docs_reference", operations.page),
        "Signature doctor": ("docs_doctor", lambda: render_to_string("docs/doctor.html", doctor_page.context())),
        "Changelog": ("docs_changelog", changelog.page),
    }
    return tuple(entry for title, (name, render) in pages.items() for entry in _entries(title, reverse(name), render()))


def _entries(page: str, path: str, html: str) -> Iterator[Entry]:
    reader = _Sections()
    reader.feed(html)
    for section in reader.sections:
        title, text = (" ".join("".join(pieces).split()) for pieces in (section.title, section.text))
        haystack = f"{title} {section.id} {text} {''.join(section.code)}".lower()
        yield Entry(page, title, f"{path}#{section.id}", text, haystack)


class _Section:
    def __init__(self, name: str) -> None:
        self.id = name
        self.title: list[str] = []
        self.text: list[str] = []
        # Found as the text is, but not shown in an excerpt.
        self.code: list[str] = []


class _Sections(HTMLParser):
    """Reads the `section` elements that have an id: the first heading of each, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[_Section] = []
        self._open: _Section | None = None
        self._skipping: str | None = None
        self._into: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "section" and attributes.get("id"):
            self._open = _Section(str(attributes["id"]))
            self._into = self._open.text
            self.sections.append(self._open)
        elif self._open is None or self._skipping:
            return
        elif tag in _SKIPPED_TAGS or _SKIPPED_CLASSES & set((attributes.get("class") or "").split()):
            self._skipping = tag
        elif tag == "pre":
            self._into = self._open.code
        elif tag in _HEADINGS and not self._open.title:
            self._into = self._open.title
        elif tag not in _INLINE:
            self._into.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._skipping:
            self._skipping = None
        elif tag == "section":
            self._open = None
        elif self._open and tag in {"pre", *_HEADINGS}:
            self._into = self._open.text

    def handle_data(self, data: str) -> None:
        if self._open and self._skipping is None:
            self._into.append(data)
