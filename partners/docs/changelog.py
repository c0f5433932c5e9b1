"""The changelog as a page: the entries for partners in CHANGELOG.md."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt

FILE: Path = settings.BASE_DIR / "CHANGELOG.md"
READERS = "partners"
# Such as "## [0.1.0] - 2026-01-15".
_HEADING = re.compile(r"^## \[([^\]\n]+)\](?: - (.+))?$", re.MULTILINE)
_GROUP = re.compile(r"For (.+):")


@dataclass(frozen=True, slots=True)
class Release:
    """A release; the date is "" where it is still to come."""

    title: str
    date: str
    html: SafeString

    @property
    def id(self) -> str:
        """The anchor on the page."""
        return f"release-{slugify(self.title.replace('.', '-'))}"


@lru_cache(maxsize=1)
def page() -> str:
    """Render the page, once in the life of a process."""
    found = releases(FILE.read_text())
    links = [{"id": one.id, "title": one.title} for one in found]
    context = {"here": "changelog", "releases": found, "contents": [{"title": "", "links": links}]}
    return render_to_string("docs/changelog.html", context)


def releases(text: str) -> list[Release]:
    """Read a changelog in the form of Keep a Changelog: its releases, newest first, with the entries for partners."""
    _preamble, *parts = _HEADING.split(text)
    markdown = MarkdownIt("commonmark", {"html": False})
    return [
        # Made by a renderer that escapes, of a file of ours.
        Release(title, date or "", mark_safe(markdown.render(for_partners(body))))  # noqa: S308
        for title, date, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    ]


def for_partners(text: str) -> str:
    """Return the groups that begin with "For partners:" and the text that belongs to no group."""
    kept, group = [], READERS
    for line in text.splitlines():
        named = _GROUP.fullmatch(line)
        if named or line.startswith("#"):
            group = named[1] if named else READERS
        if group == READERS and not named:
            kept.append(line)
    return "\n".join(kept)
