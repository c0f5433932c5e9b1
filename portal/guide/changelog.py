"""The changelog as a page: the entries for partners in CHANGELOG.md."""

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt

FILE: Path = settings.BASE_DIR / "CHANGELOG.md"
# Such as "## [0.1.0] - 2026-01-15".
_HEADING = re.compile(r"^## \[([^\]\n]+)\](?: - (.+))?$", re.MULTILINE)
_AUDIENCE = re.compile(r"For (.+):")


class Release(NamedTuple):
    """A release. id: the anchor on the page. date: "" if it is still to come."""

    id: str
    title: str
    date: str
    html: SafeString


@lru_cache(maxsize=1)
def page() -> str:
    """Render the page, once in each process."""
    entries = releases(FILE.read_text())
    links = [{"title": "", "links": entries}]
    context = {"here": "changelog", "markdown": "changelog", "releases": entries, "contents": links}
    return render_to_string("docs/changelog.html", context)


def releases(text: str) -> list[Release]:
    """Parse a file in the format of Keep a Changelog: its releases in their order, with the entries for partners."""
    _preamble, *parts = _HEADING.split(text)
    markdown = MarkdownIt("commonmark", {"html": False})
    return [
        # The renderer escapes, and the file is ours.
        Release(
            f"release-{slugify(title.replace('.', '-'))}",
            title,
            date or "",
            mark_safe(markdown.render(_for_partners(body))),  # noqa: S308
        )
        for title, date, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    ]


def _for_partners(text: str) -> str:
    """Return the groups "For partners:" and the text outside of groups."""
    kept, audience = [], "partners"
    for line in text.splitlines():
        group = _AUDIENCE.fullmatch(line)
        if group or line.startswith("#"):
            audience = group[1] if group else "partners"
        if audience == "partners" and not group:
            kept.append(line)
    return "\n".join(kept)
